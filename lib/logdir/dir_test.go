package logdir

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"logkit/lib/commitlog"
	"logkit/lib/record"
	"logkit/lib/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(vfs.OS, path, Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func appendOne(t *testing.T, d *Dir, topic string, number int32, value string) {
	t.Helper()
	log, ok := d.Log(topic, number)
	if !ok {
		t.Fatalf("no log %s-%d", topic, number)
	}
	b := record.NewBuilder(record.None)
	b.Append(record.Record{Timestamp: 1, Value: []byte(value)})
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	base, err := log.Append(data, h, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.WaitVisible(t.Context(), base); err != nil {
		t.Fatal(err)
	}
}

func TestTopicsSurvive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path)
	for topic, partitions := range map[string]int32{"clicks": 3, "a-b": 1, "z.9": 2} {
		if err := create(d, topic, partitions, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(d, "clicks", 1, nil); !errors.Is(err, ErrExists) {
		t.Errorf("second Create: %v, want ErrExists", err)
	}
	appendOne(t, d, "clicks", 2, "x")
	log, _ := d.Log("clicks", 2)
	before, id := log.Positions(), d.Incarnation()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	want := []Topic{{"a-b", []int32{0}}, {"clicks", []int32{0, 1, 2}}, {"z.9", []int32{0, 1}}}
	if diff := cmp.Diff(want, d.Topics()); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	if log, _ := d.Log("clicks", 2); log.Positions() != before {
		t.Errorf("positions %+v, before %+v", log.Positions(), before)
	}
	if id == "" || d.Incarnation() != id {
		t.Errorf("incarnation %q, before %q", d.Incarnation(), id)
	}
	if _, err := os.Stat(filepath.Join(path, cleanFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the clean-shutdown mark is there while the logs may change: %v", err)
	}
}

func TestLocked(t *testing.T) {
	path := t.TempDir()
	open(t, path)
	_, err := Open(vfs.OS, path, Options{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("second Open: %v, want ErrLocked that names the directory", err)
	}
}

// A stop without Close is a crash to the next start: nothing that was visible is lost, checkpointed or not.
func TestStartAfterCrash(t *testing.T) {
	for _, checkpointed := range []bool{false, true} {
		path := t.TempDir()
		d, err := Open(vfs.OS, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := create(d, "t", 1, nil); err != nil {
			t.Fatal(err)
		}
		appendOne(t, d, "t", 0, "one")
		if checkpointed {
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
		appendOne(t, d, "t", 0, "two")
		log, _ := d.Log("t", 0)
		want := log.Positions()
		copied := filepath.Join(t.TempDir(), "copy") // what a crash at this moment leaves
		if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
			t.Fatal(err)
		}
		d.Close()
		d = open(t, copied)
		if log, ok := d.Log("t", 0); !ok || log.Positions() != want {
			t.Errorf("checkpointed %v: positions after the crash %+v, want %+v", checkpointed, log.Positions(), want)
		}
	}
}

func TestForeignNamesAreLeftAlone(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"lost+found", "t-01", "-0", "no partition", "t-99999999999"} {
		if err := os.Mkdir(filepath.Join(path, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, path)
	if topics := d.Topics(); len(topics) != 0 {
		t.Errorf("topics %v, want none", topics)
	}
	entries, _ := os.ReadDir(path)
	if len(entries) != 5+2 { // and .lock, meta.properties
		t.Errorf("%d entries left, want 7", len(entries))
	}
}

func TestDamagedCheckpointsAreNotBelieved(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 0, "x")
	log, _ := d.Log("t", 0)
	want := log.Positions()
	d.Close()
	for _, name := range []string{cleanFile, recoveryPointFile, logStartFile} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("0\n1\nt 0 1 2 "), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d = open(t, path)
	if log, _ := d.Log("t", 0); log.Positions() != want {
		t.Errorf("positions %+v, want %+v", log.Positions(), want)
	}
}

func TestValidTopic(t *testing.T) {
	for _, name := range []string{"a", "A.b_c-9", "__consumer_offsets", "...", strings.Repeat("x", 249)} {
		if err := ValidTopic(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "a b", "ä", "a\x00", "a,b", strings.Repeat("x", 250)} {
		var bad *TopicNameError
		if err := ValidTopic(name); !errors.As(err, &bad) || bad.Name != name {
			t.Errorf("%q: error %v, want one that names it", name, err)
		}
	}
	d := open(t, t.TempDir())
	var bad *TopicNameError
	if err := create(d, "../x", 1, nil); !errors.As(err, &bad) {
		t.Errorf("Create: %v, want a *TopicNameError", err)
	}
	if err := create(d, "x", 0, nil); err == nil {
		t.Error("a topic without partitions was made")
	}
}

func TestSettings(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	var bad *SettingError
	for _, s := range []Settings{{"retention.ms": "x"}, {"segment.bytes": "10"}, {"no.such": "1"}, {"cleanup.policy": "compact"},
		{"flush.messages": "0"}, {"max.message.bytes": "9999999999"}, {"retention.ms": "-2"}, {"retention.ms": ""}} {
		if err := create(d, "t", 1, s); !errors.As(err, &bad) {
			t.Errorf("Create with %v: %v, want a *SettingError", s, err)
		}
	}
	if err := create(d, "t", 1, Settings{"segment.bytes": "2048", "cleanup.policy": "delete"}); err != nil {
		t.Fatal(err)
	}
	if err := d.SetSettings("none", nil); !errors.Is(err, ErrNoTopic) {
		t.Errorf("SetSettings of a missing topic: %v, want ErrNoTopic", err)
	}
	want := Settings{"segment.bytes": "1024", "retention.ms": "5000", "retention.bytes": "-1", "max.message.bytes": "77", "flush.ms": "9223372036854775807"}
	if err := d.SetSettings("t", want); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if diff := cmp.Diff(want, d.Settings("t")); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		e := d.Effective("t")
		if e.Log.SegmentBytes != 1024 || e.Retention.Age != 5*time.Second || e.Retention.Bytes != 0 || d.MaxMessageBytes("t") != 77 || e.Log.FlushInterval < time.Hour {
			t.Errorf("effective %+v", e)
		}
		d.Close()
		d = open(t, path)
	}
	for i := range 20 { // settings hold: the log rolls at 1024 bytes
		appendOne(t, d, "t", 0, strings.Repeat("x", 200+i))
	}
	if names, _ := filepath.Glob(filepath.Join(path, "t-0", "*.log")); len(names) < 4 {
		t.Errorf("%d segments, want one for each 1024 bytes", len(names))
	}
}

func TestDelete(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 2, Settings{"retention.ms": "1"}); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 1, "old")
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	log, _ := d.Log("t", 1)
	if _, err := log.DeleteBefore(1); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 1, "old too")
	if err := d.Delete("t"); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Topic("t"); ok {
		t.Error("the topic is there after Delete")
	}
	if _, err := log.Read(1, 100); !errors.Is(err, commitlog.ErrDeleted) {
		t.Errorf("read of a deleted log: %v, want ErrDeleted", err)
	}
	if err := d.Delete("t"); !errors.Is(err, ErrNoTopic) {
		t.Errorf("second Delete: %v, want ErrNoTopic", err)
	}
	// One of the same name never meets old data, old marks or old settings, also after a crash.
	if err := create(d, "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	if s := d.Settings("t"); len(s) != 0 {
		t.Errorf("settings %v, want none", s)
	}
	if err := os.Mkdir(filepath.Join(path, partition{"gone", 0}.renamed(deleteSuffix)), 0o755); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	d = open(t, copied)
	if diff := cmp.Diff([]Topic{{"t", []int32{0}}}, d.Topics()); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	if log, _ := d.Log("t", 0); log.Positions() != (commitlog.Positions{}) {
		t.Errorf("positions %+v, want zeros", log.Positions())
	}
	if left, _ := filepath.Glob(filepath.Join(copied, "*"+deleteSuffix)); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	if name := (partition{strings.Repeat("x", 249), 12345}).renamed(deleteSuffix); len(name) > maxFileName {
		t.Errorf("name of %d bytes, at most %d allowed", len(name), maxFileName)
	} else if _, ok := parseDir(name); ok {
		t.Errorf("%q is taken for a partition", name)
	}
}

func TestAddPartitions(t *testing.T) {
	d := open(t, t.TempDir())
	if err := create(d, "t", 2, nil); err != nil {
		t.Fatal(err)
	}
	for _, numbers := range [][]int32{nil, {1}, {2, 1}, {-1}} {
		if err := d.Create("t", topicID, numbers, nil); err == nil {
			t.Errorf("partitions %d beside 0 and 1: no error", numbers)
		}
	}
	if err := d.Create("t", topicID, []int32{7, 3}, nil); err != nil { // others are elsewhere
		t.Fatal(err)
	}
	appendOne(t, d, "t", 3, "x")
	if diff := cmp.Diff([]Topic{{"t", []int32{0, 1, 3, 7}}}, d.Topics()); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

// Everything has expired: the start is all that says where the log stands, also after a crash, and ids go on.
func TestEverythingExpires(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 1, Settings{"retention.ms": "1000", "segment.bytes": "1024"}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		appendOne(t, d, "t", 0, strings.Repeat("x", 300))
	}
	log, _ := d.Log("t", 0)
	before := log.Positions()
	d.Retain(time.Now())
	if p := log.Positions(); p != before {
		t.Fatalf("positions %+v, want %+v: nothing is old enough", p, before)
	}
	d.Retain(time.Now().Add(time.Hour))
	want := commitlog.Positions{Start: before.HighWatermark, HighWatermark: before.HighWatermark, End: before.End}
	if p := log.Positions(); p != want {
		t.Fatalf("positions %+v, want %+v", p, want)
	}
	if s, err := log.Read(before.HighWatermark, 100); err != nil || s.Handle != nil {
		t.Errorf("a reader at the end: %v", err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	d = open(t, copied)
	log, _ = d.Log("t", 0)
	if p := log.Positions(); p != want {
		t.Fatalf("positions after a crash %+v, want %+v", p, want)
	}
	appendOne(t, d, "t", 0, "after")
	if p := log.Positions(); p.HighWatermark != before.End+1 {
		t.Errorf("high watermark %d, want %d", p.HighWatermark, before.End+1)
	}
}

// FuzzCheckpoint feeds arbitrary text to the reader of checkpoint files. Invariants:
//   - no panic;
//   - every failure is ErrCheckpoint;
//   - what parses encodes to text that parses to the same entries.
func FuzzCheckpoint(f *testing.F) {
	for _, seed := range []string{
		"0\n0\n", "0\n1\nt 0 5\n", "0\n2\na-b 0 5\na-b 1 9223372036854775807\n", "0\n1\nt 0 5", "1\n0\n",
		"0\n1\nt 0 -5\n", "0\n1\nt 0 5 6\n", "0\n9\nt 0 5\n", "0\n-1\n", "\x00\x00\x00", "0\n1\nt 4294967296 5\n", "",
	} {
		f.Add(seed, 1)
	}
	f.Add("0\n1\nt 0 5 6 7 8\n", 4)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > 8 {
			return
		}
		c, err := parseCheckpoint(text, n)
		if err != nil {
			if !errors.Is(err, ErrCheckpoint) {
				t.Fatalf("error %v is not ErrCheckpoint", err)
			}
			return
		}
		again, err := parseCheckpoint(string(c.encode()), n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmp.AllowUnexported(partition{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzMeta feeds arbitrary text to the reader of meta.properties. Invariants: no panic; what parses has both
// identities, and encodes to text that parses to the same.
func FuzzMeta(f *testing.F) {
	for _, seed := range []string{"", "version=0\ncluster.id=a\nincarnation=b\n", "# c\n\ncluster.id=\n", "cluster.id", "\x00=\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMeta(text)
		if err != nil {
			return
		}
		if again, err := parseMeta(string(m.encode())); err != nil || again != m {
			t.Fatalf("%+v encodes to %+v, %v", m, again, err)
		}
	})
}
