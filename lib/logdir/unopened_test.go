package logdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logkit/lib/vfs"
)

// unreadableFS cannot read the segments of one partition.
type unreadableFS struct {
	vfs.FS
	dir string
}

func (u unreadableFS) OpenWrite(name string) (vfs.File, error) {
	if filepath.Base(filepath.Dir(name)) == u.dir {
		return nil, errRefused
	}
	return u.FS.OpenWrite(name)
}

func (u unreadableFS) OpenRead(name string) (vfs.File, error) {
	if filepath.Base(filepath.Dir(name)) == u.dir && strings.HasSuffix(name, ".log") {
		return nil, errRefused
	}
	return u.FS.OpenRead(name)
}

// TestUnopened: a log that cannot be opened keeps no other from being served. Its name is taken, what is remembered of it
// stays, and it is served again when it can be opened.
func TestUnopened(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 2, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 0, "zero")
	appendOne(t, d, "t", 1, "one")
	log, _ := d.Log("t", 1)
	if _, err := log.DeleteBefore(1); err != nil {
		t.Fatal(err)
	}
	before := log.Positions()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	crashed(t, path)
	failures := 0
	options := Options{}
	options.Log.OnFailure = func(error) { failures++ }
	d, err := Open(unreadableFS{vfs.OS, "t-1"}, path, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Log("t", 1); ok {
		t.Error("a log that cannot be opened is found")
	}
	if got, _ := d.Topic("t"); len(got.Partitions) != 1 || got.Partitions[0] != 0 {
		t.Errorf("partitions %d are served, want 0", got.Partitions)
	}
	list := d.PartitionsOf("t")
	if len(list) != 2 || list[0].Err != nil || !errors.Is(list[1].Err, errRefused) || list[1].TopicID != topicID {
		t.Errorf("partitions %+v, want the second with its topic and what the disk said", list)
	}
	if failures != 1 {
		t.Errorf("OnFailure called %d times, want once", failures)
	}
	if err := d.Create("t", topicID, []int32{1}, nil); !errors.Is(err, ErrExists) {
		t.Errorf("a partition in its place: %v, want ErrExists", err)
	}
	appendOne(t, d, "t", 0, "more")
	if err := errors.Join(d.Checkpoint(), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	if log, ok := d.Log("t", 1); !ok || log.Positions() != before {
		t.Errorf("positions %+v, before %+v", log.Positions(), before)
	}
}

// TestUnopenedIsDeleted: with its topic, as any other.
func TestUnopenedIsDeleted(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 2, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	crashed(t, path)
	d, err := Open(unreadableFS{vfs.OS, "t-1"}, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Delete("t"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(path); len(d.Partitions()) != 0 || anyPartition(left) {
		t.Errorf("left: %v, %v", d.Partitions(), left)
	}
}

// crashed takes away what tells of an orderly stop: the next start reads the logs.
func crashed(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(path, cleanFile)); err != nil {
		t.Fatal(err)
	}
}

func anyPartition(entries []os.DirEntry) bool {
	for _, e := range entries {
		if _, ok := parseDir(e.Name()); ok {
			return true
		}
	}
	return false
}
