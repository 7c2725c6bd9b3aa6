package zkserver

import (
	bolt "go.etcd.io/bbolt"
)

// checkDatabase has bbolt look for pages that are lost or used twice.
func checkDatabase(st *store) error {
	return st.db.View(func(tx *bolt.Tx) (first error) {
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		return first
	})
}
