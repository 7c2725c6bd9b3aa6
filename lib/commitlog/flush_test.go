package commitlog

import (
	"testing"
	"testing/synctest"
	"time"
)

// One flush at a time in two logs: the second waits its turn, and that is told when it has taken long.
func TestSyncLimit(t *testing.T) {
	for held, late := range map[time.Duration]bool{time.Second / 2: false, 3 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			var told []time.Duration
			limit := NewSyncLimit(1, func(waited time.Duration) { told = append(told, waited) })
			limit.acquire()
			second := make(chan struct{})
			go func() {
				limit.acquire()
				limit.release()
				close(second)
			}()
			time.Sleep(held)
			select {
			case <-second:
				t.Error("two flushes at the same time")
			default:
			}
			limit.release()
			<-second
			if got := len(told) == 1 && told[0] == held; got != late || len(told) > 1 {
				t.Errorf("held up for %v: told %v", held, told)
			}
		})
	}
}
