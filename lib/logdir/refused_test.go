package logdir

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/commitlog"
	"logkit/lib/vfs"
)

var errRefused = errors.New("refused by the test")

// refusingFS is the operating system's, except that it refuses to make or rename what has a certain name.
type refusingFS struct {
	vfs.FS
	create string // part of the path of a file
	rename string // name of a directory
}

func (r *refusingFS) Create(name string) (vfs.File, error) {
	if r.create != "" && strings.Contains(name, r.create) {
		return nil, errRefused
	}
	return r.FS.Create(name)
}

func (r *refusingFS) Rename(from, to string) error {
	if r.rename != "" && filepath.Base(from) == r.rename {
		return errRefused
	}
	return r.FS.Rename(from, to)
}

func openRefusing(t *testing.T) (*refusingFS, *Dir) {
	t.Helper()
	fsys := &refusingFS{FS: vfs.OS}
	d, err := Open(fsys, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return fsys, d
}

// TestRefusedCreateLeavesNothing: a topic that the disk refused in the middle does not appear with the next start.
func TestRefusedCreateLeavesNothing(t *testing.T) {
	fsys, d := openRefusing(t)
	fsys.create = "t-2"
	if err := create(d, "t", 4, nil); !errors.Is(err, errRefused) {
		t.Fatalf("Create: %v, want what the disk said", err)
	}
	if left, _ := filepath.Glob(filepath.Join(d.Path(), "t-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	fsys.create = ""
	if err := create(d, "t", 2, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 1, "kept")
	fsys.create = "t-3"
	if err := addPartitions(d, "t", 5); !errors.Is(err, errRefused) {
		t.Fatalf("AddPartitions: %v, want what the disk said", err)
	}
	if left, _ := filepath.Glob(filepath.Join(d.Path(), "t-*")); len(left) != 2 {
		t.Errorf("directories %q, want those of the two partitions that there were", left)
	}
	if got, _ := d.Topic("t"); len(got.Partitions) != 2 {
		t.Errorf("partitions %d, want 2", got.Partitions)
	}
}

// TestRefusedDeleteChangesNothing: partitions that had been set aside come back, with all that is in them.
func TestRefusedDeleteChangesNothing(t *testing.T) {
	fsys, d := openRefusing(t)
	if err := create(d, "t", 3, Settings{"retention.ms": "5"}); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 2, "kept")
	fsys.rename = "t-0" // the last to be renamed
	if err := d.Delete("t"); !errors.Is(err, errRefused) {
		t.Fatalf("Delete: %v, want what the disk said", err)
	}
	if got, ok := d.Topic("t"); !ok || len(got.Partitions) != 3 {
		t.Fatalf("topic %+v, want it with 3 partitions", got)
	}
	if diff := cmp.Diff(Settings{"retention.ms": "5"}, d.Settings("t")); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	appendOne(t, d, "t", 2, "more")
	log, _ := d.Log("t", 2)
	slice, err := log.Read(0, 1<<20)
	if err != nil || slice.Len == 0 {
		t.Errorf("read: %d bytes, %v", slice.Len, err)
	}
	slice.Release()
	fsys.rename = ""
	if err := d.Delete("t"); err != nil {
		t.Fatal(err)
	}
	if s := d.Settings("t"); len(s) != 0 {
		t.Errorf("settings %v of a deleted topic", s)
	}
	if _, _, err := log.Size(); !errors.Is(err, commitlog.ErrDeleted) {
		t.Errorf("size of a deleted log: %v, want ErrDeleted", err)
	}
}

// TestDeletedWhileBeingLookedAt: between the moment that nobody finds the log and the moment that it is gone, a look-up
// meets missing files; never does it find the topic and not its files.
func TestDeletedWhileBeingLookedAt(t *testing.T) {
	fsys := &watchingFS{FS: vfs.OS}
	d, err := Open(fsys, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := create(d, "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	fsys.renamed = func() {
		if _, ok := d.Log("t", 0); ok {
			t.Error("the log is found when its files are on their way out")
		}
	}
	if err := d.Delete("t"); err != nil {
		t.Fatal(err)
	}
}

type watchingFS struct {
	vfs.FS
	renamed func()
}

func (w *watchingFS) Rename(from, to string) error {
	if w.renamed != nil && isDoomed(to) {
		w.renamed()
	}
	return w.FS.Rename(from, to)
}

// TestSetSettings: settings that are refused change nothing.
func TestSetSettings(t *testing.T) {
	_, d := openRefusing(t)
	if err := create(d, "t", 1, Settings{"retention.ms": "5"}); err != nil {
		t.Fatal(err)
	}
	var setting *SettingError
	for _, test := range []struct {
		topic string
		set   Settings
		want  func(error) bool
	}{
		{"t", Settings{"retention.ms": "x"}, func(err error) bool { return errors.As(err, &setting) }},
		{"t", Settings{"no.such.name": "1"}, func(err error) bool { return errors.As(err, &setting) }},
		{"u", Settings{"retention.ms": "6"}, func(err error) bool { return errors.Is(err, ErrNoTopic) }},
		{"t", Settings{"max.message.bytes": "0"}, func(err error) bool { return errors.As(err, &setting) }},
	} {
		if err := d.SetSettings(test.topic, test.set); !test.want(err) {
			t.Errorf("unexpected error %v", err)
		}
		if diff := cmp.Diff(Settings{"retention.ms": "5"}, d.Settings("t")); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
	}
	if err := d.SetSettings("t", Settings{"max.message.bytes": "99"}); err != nil {
		t.Fatal(err)
	}
	if n := d.MaxMessageBytes("t"); n != 99 {
		t.Errorf("largest batch of %d bytes, want 99", n)
	}
	if n := testing.AllocsPerRun(100, func() { d.MaxMessageBytes("t") }); n > 0 {
		t.Errorf("MaxMessageBytes allocates %v times", n)
	}
	if err := CheckSettingName("retention.mss"); err == nil || !strings.Contains(err.Error(), "allowed are") {
		t.Errorf("unknown name: %v, want what is allowed", err)
	}
}
