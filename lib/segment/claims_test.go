package segment

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// claiming is a log of one intact batch, one whose length says that it goes on to the end of 96 MiB, and zeros.
func claiming(t *testing.T) (env *Env, dir string, intact, size int64) {
	t.Helper()
	env, dir = newEnv(t), t.TempDir()
	data, h := encode(t, 0, 1000)
	lie, _ := encode(t, h.NextBase(), 1000)
	size = 96 << 20
	binary.BigEndian.PutUint32(lie[8:], uint32(size-h.Size()-12))
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), append(data, lie...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "00000000000000000000.log"), size); err != nil {
		t.Fatal(err)
	}
	return env, dir, h.Size(), size
}

func allocated(fn func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// What a damaged length claims costs no memory: a broker with little of it starts all the same.
func TestClaimedLengthCostsNoMemory(t *testing.T) {
	const most = 8 << 20
	for name, point := range map[string]int64{"cut": 0, "kept": 1 << 30} {
		env, dir, intact, size := claiming(t)
		var w *Writer
		var r Recovery
		if n := allocated(func() {
			var err error
			if w, r, err = Recover(env, dir, 0, point); err != nil {
				t.Fatal(err)
			}
		}); n > most {
			t.Errorf("%s: recovery took %d bytes of memory", name, n)
		}
		if want := map[string]int64{"cut": intact, "kept": size}[name]; r.Batches != 1 || w.Size() != want {
			t.Errorf("%s: %+v, size %d; want 1 batch, size %d", name, r, w.Size(), want)
		}
		if n := allocated(func() { w.Locate(50, w.Size()) }); n > most {
			t.Errorf("%s: a look-up took %d bytes of memory", name, n)
		}
		w.Abandon()
	}
}
