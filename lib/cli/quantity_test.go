package cli

import (
	"math"
	"strconv"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"
)

// valueRow is a text for a value, and what it reads as; an empty want means that it is refused.
type valueRow struct{ in, want string }

// checkValues sets each row in a value of its own, and compares String. What String says must read as the same.
func checkValues(t *testing.T, newValue func() ucli.Generic, rows []valueRow) {
	t.Helper()
	for _, row := range rows {
		v := newValue()
		before := v.String()
		err := v.Set(row.in)
		if row.want == "" {
			if err == nil {
				t.Errorf("%q: accepted as %s", row.in, v)
			} else if v.String() != before {
				t.Errorf("%q: refused, but set to %s", row.in, v)
			}
			continue
		}
		if err != nil || v.String() != row.want {
			t.Errorf("%q: got %s (%v), want %s", row.in, v, err, row.want)
			continue
		}
		again := newValue()
		if err := again.Set(v.String()); err != nil || again.String() != row.want {
			t.Errorf("%q: %s reads as %s (%v)", row.in, v, again, err)
		}
	}
}

func TestSize(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(Size) }, []valueRow{
		{"0", "0"}, {"1", "1"}, {"1000", "1000"}, {"1024", "1KiB"}, {"010", "10"}, {"1k", "1KiB"}, {"1K", "1KiB"}, {"1KiB", "1KiB"}, {"1kib", "1KiB"},
		{"64m", "64MiB"}, {"1024MiB", "1GiB"}, {"1g", "1GiB"}, {"8388607TiB", "8388607TiB"}, {"9223372036854775807", "9223372036854775807"}, {"1536", "1536"}, {"0t", "0"},
		{"", ""}, {"k", ""}, {"-1", ""}, {"+1", ""}, {"1.5g", ""}, {"1KB", ""}, {"1kB", ""}, {"1B", ""}, {"1 k", ""}, {"1kk", ""}, {"1ki", ""}, {"0x10", ""},
		{"1_000", ""}, {"1e3", ""}, {"8388608TiB", ""}, {"9223372036854775808", ""}, {"99999999999999999999", ""}, {"9007199254740992k", ""}, {"١", ""},
	})
}

func TestTimeout(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(Timeout) }, []valueRow{
		{"1ms", "1ms"}, {"10s", "10s"}, {"1d", "24h"}, {"0", ""}, {"0s", ""}, {"999us", ""}, {"-1s", ""}, {"x", ""}, {"", ""},
	})
}

func TestDuration(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(Duration) }, []valueRow{
		{"0", "0s"}, {"1s", "1s"}, {"7d", "168h"}, {"168h", "168h"}, {"1d12h", "36h"}, {"1.5d", "36h"}, {"1m", "1m"}, {"90s", "1m30s"}, {"5ms", "5ms"},
		{"1h30m", "1h30m"}, {"1h0m5s", "1h0m5s"}, {"2us", "2µs"}, {"2µs", "2µs"}, {"+1s", "1s"}, {"106751d", "2562024h"}, {"12h1d", "36h"}, {"0d", "0s"},
		{"", ""}, {"5", ""}, {"d", ""}, {"-", ""}, {"-3d", ""}, {"--3d", ""}, {"+-3d", ""}, {"1w", ""}, {"1d5", ""}, {"1 d", ""}, {"1.d.", ""}, {"1D", ""},
		{"106752d", ""}, {"99999999999999999999h", ""}, {"106751d24h", ""}, {"1d\x00", ""}, {".", ""}, {"0x1s", ""}, {"1e3s", ""},
	})
	checkValues(t, func() ucli.Generic { return new(SignedDuration) }, []valueRow{{"-3d", "-72h"}, {"3d", "72h"}, {"--3d", ""}, {"-", ""}})
	d := 10 * time.Second
	if err := (*Duration)(&d).Set("1m"); err != nil || d != time.Minute {
		t.Errorf("%v %v", d, err)
	}
}

func TestCounts(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(Count) }, []valueRow{
		{"0", "0"}, {"42", "42"}, {"010", "10"}, {"9223372036854775807", "9223372036854775807"},
		{"", ""}, {"-1", ""}, {"+1", ""}, {"0x10", ""}, {"1_000", ""}, {"1e3", ""}, {"9223372036854775808", ""}, {" 1", ""}, {"1k", ""},
	})
	checkValues(t, func() ucli.Generic { return new(Lines) }, []valueRow{
		{"10", "10"}, {"+10", "+10"}, {"-10", "10"}, {"0", "0"}, {"+0", "+0"}, {"", ""}, {"+", ""}, {"-", ""}, {"+-1", ""}, {"--1", ""}, {"++1", ""}, {"x", ""},
		{"9223372036854775808", ""},
	})
	checkValues(t, func() ucli.Generic { n := int32(3); return Number(&n, -1, 7) }, []valueRow{
		{"-1", "-1"}, {"7", "7"}, {"007", "7"}, {"-2", ""}, {"8", ""}, {"4294967297", ""}, {"+1", ""}, {"-", ""}, {"--1", ""},
	})
	checkValues(t, func() ucli.Generic { return Partitions(new([]int32)) }, []valueRow{
		{"0", "0"}, {"2147483647", "2147483647"}, {"2147483648", ""}, {"-1", ""}, {"", ""}, {"1,2", ""},
	})
}

// FuzzSize: no panic; a size is never negative; String reads as the same size; what is digits alone is that number.
func FuzzSize(f *testing.F) {
	for _, seed := range []string{"", "0", "1k", "64MiB", "8388607TiB", "8388608TiB", "9223372036854775807", "9223372036854775808", "1KB", "-1", "\x00", "１k"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		size, err := ParseSize(in)
		if err != nil {
			return
		}
		if again, err := ParseSize(size.String()); err != nil || again != size || size < 0 {
			t.Fatalf("%q is %d, and %s is %d (%v)", in, size, &size, again, err)
		}
		if n, err := strconv.ParseInt(in, 10, 64); err == nil && n != int64(size) {
			t.Fatalf("%q is %d", in, size)
		}
	})
}

// FuzzDuration: no panic; String reads as the same duration; whatever Go reads with the same units, we read alike.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"", "0", "-0", "1d12h", "7d", "-3d", "1.5d", "106751d", "106752d", "2562047h47m16.854775807s", "1ns", "..s", "1d1", "dd", "+", "9223372036854775808ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		d, err := ParseDuration(in)
		if std, stdErr := time.ParseDuration(in); stdErr == nil && std != math.MinInt64 && (err != nil || absolute(std-d) > time.Microsecond) {
			t.Fatalf("%q is %v to Go, and %v here (%v)", in, std, d, err)
		}
		if err != nil {
			return
		}
		if again, err := ParseDuration(formatDuration(d)); err != nil || again != d {
			t.Fatalf("%q is %d, and %s is %d (%v)", in, d, formatDuration(d), again, err)
		}
	})
}

// absolute: rounding differs by a nanosecond for each part.
func absolute(d time.Duration) time.Duration { return max(d, -d) }
