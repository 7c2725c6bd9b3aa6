package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"
)

func TestOffset(t *testing.T) {
	local := func(year int, month time.Month, day, hour, minute, second int) int64 {
		return time.Date(year, month, day, hour, minute, second, 0, time.Local).UnixMilli()
	}
	rows := []struct {
		in   string
		want Offset
	}{
		{"earliest", Offset{Kind: OffsetEarliest}},
		{"beginning", Offset{Kind: OffsetEarliest}},
		{"latest", Offset{Kind: OffsetLatest}},
		{"end", Offset{Kind: OffsetLatest}},
		{"0", Offset{OffsetID, 0}},
		{"010", Offset{OffsetID, 10}},
		{"9223372036854775807", Offset{OffsetID, 9223372036854775807}},
		{"@0", Offset{OffsetTime, 0}},
		{"@1714557600", Offset{OffsetTime, 1714557600000}},
		{"@99999999999", Offset{OffsetTime, 99999999999000}}, // 11 digits: seconds
		{"@100000000000", Offset{OffsetTime, 100000000000}},  // 12 digits: milliseconds
		{"@1714557600123", Offset{OffsetTime, 1714557600123}},
		{"@2024-05-01T10:00:00Z", Offset{OffsetTime, 1714557600000}},
		{"@2024-05-01T12:00:00.5+02:00", Offset{OffsetTime, 1714557600500}},
		{"@2024-05-01", Offset{OffsetTime, local(2024, 5, 1, 0, 0, 0)}},
		{"@2024-05-01T10:30", Offset{OffsetTime, local(2024, 5, 1, 10, 30, 0)}},
		{"@2024-05-01 10:30", Offset{OffsetTime, local(2024, 5, 1, 10, 30, 0)}},
		{"@2024-05-01T10:30:15", Offset{OffsetTime, local(2024, 5, 1, 10, 30, 15)}},
		{"@2024-05-01 10:30:15.25", Offset{OffsetTime, local(2024, 5, 1, 10, 30, 15) + 250}},
		{"@1950-01-01", Offset{OffsetTime, 0}},
		{"-3d", Offset{OffsetAgo, 3 * 86400 * 1000}},
		{"-1h30m", Offset{OffsetAgo, 5400 * 1000}},
		{"-0s", Offset{OffsetAgo, 0}},
	}
	for _, row := range rows {
		got, err := ParseOffset(row.in)
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", row.in, err, diff)
		}
	}
	for _, in := range []string{"", "-", "@", "-1", "--3d", "-+3d", "+5", "1k", "0x10", "9223372036854775808", "now", "Latest", "@-1", "@1e9", "@tomorrow",
		"@2024-13-01", "@2024-05-01T25:00", "@99999999999999999999", "-3w", "-latest", "-106752d", "1714557600s", "@2024-05-01T10:00:00 Z"} {
		if got, err := ParseOffset(in); err == nil || got.IsSet() {
			t.Errorf("%q: accepted as %+v", in, got)
		}
	}
}

func TestOffsetHint(t *testing.T) {
	_, err := ParseOffset("-10")
	var hint *hintError
	if !errors.As(err, &hint) || hint.hint != "the last 10 messages are -n 10" {
		t.Errorf("%v: hint %v", err, hint)
	}
}

func TestOffsetResolve(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	rows := []struct{ in, want Offset }{
		{Offset{OffsetAgo, 1}, Offset{OffsetTime, 999_999}},
		{Offset{OffsetAgo, 2_000_000}, Offset{OffsetTime, 0}}, // never a negative time, which ListOffsets reads as earliest or latest
		{Offset{OffsetTime, 5}, Offset{OffsetTime, 5}},
		{Offset{Kind: OffsetLatest}, Offset{Kind: OffsetLatest}},
	}
	for _, row := range rows {
		if got := row.in.Resolve(now); got != row.want {
			t.Errorf("%+v: got %+v, want %+v", row.in, got, row.want)
		}
	}
}

func TestOffsetText(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(Offset) }, []valueRow{
		{"beginning", "earliest"}, {"end", "latest"}, {"42", "42"}, {"@1714557600", "@2024-05-01T10:00:00Z"}, {"@1714557600123", "@2024-05-01T10:00:00.123Z"},
		{"-3d", "-72h"}, {"x", ""},
	})
}

// FuzzOffset: no panic; a value is never negative; String reads as the same offset, to years of four digits; Resolve
// leaves no time span.
func FuzzOffset(f *testing.F) {
	for _, seed := range []string{"", "earliest", "latest", "42", "@0", "@1714557600", "@1714557600123", "@2024-05-01T10:00:00Z", "@2024-05-01", "-3d", "-10", "--1h", "@9999999999999999999", "-106751d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		o, err := ParseOffset(in)
		if err != nil {
			if o.IsSet() {
				t.Fatalf("%q: %+v beside an error", in, o)
			}
			return
		}
		if !o.IsSet() || o.Value < 0 {
			t.Fatalf("%q is %+v", in, o)
		}
		if at := o.Resolve(time.UnixMilli(1)); at.Kind == OffsetAgo || at.Value < 0 {
			t.Fatalf("%q resolves to %+v", in, at)
		}
		if o.Kind == OffsetTime && o.Value >= 253402300800000 {
			return
		}
		if again, err := ParseOffset(o.String()); err != nil || again != o {
			t.Fatalf("%q is %+v, and %s is %+v (%v)", in, o, &o, again, err)
		}
	})
}
