package commitlog

import (
	"errors"
	"testing"

	"logkit/lib/vfs"
)

// What an orderly stop has written down has no checksum, and decides which ids are given next. One that the log contradicts
// is not followed: no id is given twice, and no record is hidden.
func TestWrongCleanIsNotBelieved(t *testing.T) {
	for name, change := range map[string]func(*Clean){
		"end too low":            func(c *Clean) { c.End -= 10 },
		"high watermark too low": func(c *Clean) { c.High -= 10 },
		"both at the base":       func(c *Clean) { c.End, c.High = c.Base, c.Base },
		"high watermark too high": func(c *Clean) {
			c.High += 1000
			c.End += 1000
		},
		"high watermark above the end": func(c *Clean) { c.High = c.End + 5 },
		"negative base":                func(c *Clean) { c.High, c.End = 0, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openTest(t, vfs.OS, dir, Options{SegmentBytes: 500}, Checkpoint{})
			var values []string
			for i := range 20 {
				mustAppend(t, l, true, number(i))
				values = append(values, number(i))
			}
			before := l.Positions()
			clean, err := l.Close()
			if err != nil {
				t.Fatal(err)
			}
			change(clean)
			l = openTest(t, vfs.OS, dir, Options{SegmentBytes: 500}, Checkpoint{Clean: clean, RecoveryPoint: before.HighWatermark})
			h := mustAppend(t, l, true, "after")
			if h.BaseOffset < before.End {
				t.Errorf("id %d is given, the log ended at %d", h.BaseOffset, before.End)
			}
			equal(t, valuesOf(t, readAll(t, l)), append(values, "after"))
			if _, err := l.Read(l.Positions().End+1, 1); !errors.Is(err, ErrOutOfRange) {
				t.Errorf("read behind the end: %v", err)
			}
		})
	}
}

// A start beyond everything that is known of the log is a damaged number. Following it would delete what is there.
func TestWrongStartIsNotBelieved(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		dir := t.TempDir()
		l := openTest(t, vfs.OS, dir, Options{SegmentBytes: 500}, Checkpoint{})
		var values []string
		for i := range 20 {
			mustAppend(t, l, true, number(i))
			values = append(values, number(i))
		}
		before := l.Positions()
		clean, err := l.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !orderly {
			clean = nil
		}
		from := Checkpoint{Clean: clean, Start: 1 << 40, RecoveryPoint: before.HighWatermark - 100}
		if orderly {
			from.RecoveryPoint = before.HighWatermark
		}
		l = openTest(t, vfs.OS, dir, Options{SegmentBytes: 500}, from)
		if p := l.Positions(); p != before {
			t.Errorf("orderly %v: positions %+v, before %+v", orderly, p, before)
		}
		equal(t, valuesOf(t, readAll(t, l)), values)
		// The recovery point bears out a start whose records the disk has lost.
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = openTest(t, vfs.OS, dir, Options{SegmentBytes: 500}, Checkpoint{Start: before.End + 50, RecoveryPoint: before.End + 60})
		if p := l.Positions(); p.Start != before.End+50 {
			t.Errorf("positions %+v, want start %d", p, before.End+50)
		}
		l.Close()
	}
}
