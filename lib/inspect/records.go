package inspect

import "logkit/lib/record"

// Records reads the records of batches of any format, one batch after another. The zero value is ready.
type Records struct {
	// MaxDecompressed limits what a batch may decompress to, in bytes; 0: record.MaxDecompressed.
	MaxDecompressed int64

	format Format
	batch  record.Iterator
	entry  record.EntryIterator
	old    record.Iterator07
}

// Reset begins with the records of b. Errors are those of record.Iterator.Reset.
func (r *Records) Reset(b *Batch) error {
	r.format = b.Format
	switch b.Format {
	case Format2:
		r.batch.MaxDecompressed = r.MaxDecompressed
		return r.batch.Reset(b.Bytes)
	case Format07:
		r.old.MaxDecompressed = r.MaxDecompressed
		return r.old.Reset(b.Bytes, b.Base)
	}
	r.entry.MaxDecompressed = r.MaxDecompressed
	return r.entry.Reset(b.Bytes)
}

// Next sets rec to the next record and reports whether there was one. What it points to is valid until the following
// Reset, and as long as the batch's bytes are.
func (r *Records) Next(rec *record.Record) bool {
	switch r.format {
	case Format2:
		return r.batch.Next(rec)
	case Format07:
		return r.old.Next(rec)
	}
	return r.entry.Next(rec)
}

// Err returns why Next has ended early.
func (r *Records) Err() error {
	switch r.format {
	case Format2:
		return r.batch.Err()
	case Format07:
		return r.old.Err()
	}
	return r.entry.Err()
}

// Check decodes all records of b.
func (r *Records) Check(b *Batch) error {
	if err := r.Reset(b); err != nil {
		return err
	}
	var rec record.Record
	for r.Next(&rec) {
	}
	return r.Err()
}
