package main

import (
	"testing"

	"logkit/lib/cli"
)

// TestLimitsFollow: what is not given follows what is, and what does not go together is refused.
func TestLimitsFollow(t *testing.T) {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	for _, test := range []struct {
		message, request, memory string // given, or not
		want                     [3]cli.Size
		code                     int
	}{
		{"", "", "", [3]cli.Size{mib, 100 * mib, 128 * mib}, 0},
		{"", "", "64m", [3]cli.Size{mib, 51 * mib, 64 * mib}, 0},
		{"", "", "2m", [3]cli.Size{819 * kib, 1638 * kib, 2 * mib}, 0},
		{"", "", "1g", [3]cli.Size{mib, 100 * mib, gib}, 0},
		{"", "1m", "", [3]cli.Size{512 * kib, mib, 128 * mib}, 0},
		{"", "200m", "", [3]cli.Size{mib, 200 * mib, 250 * mib}, 0},
		{"200m", "", "", [3]cli.Size{200 * mib, 250 * mib, 250*mib + 250*mib/4}, 0},
		{"10m", "", "64m", [3]cli.Size{10 * mib, 51 * mib, 64 * mib}, 0},
		{"60m", "", "64m", [3]cli.Size{}, cli.ExitUsage},
		{"1m", "1m", "", [3]cli.Size{}, cli.ExitUsage},
		{"", "100m", "100m", [3]cli.Size{}, cli.ExitUsage},
	} {
		l := defaultLimits()
		for _, o := range []struct {
			flag *sizeWithin
			text string
		}{{l.message, test.message}, {l.request, test.request}, {l.memory, test.memory}} {
			if o.text != "" {
				if err := o.flag.Set(o.text); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := l.settle()
		if test.code != 0 {
			if err == nil {
				t.Errorf("%+v: taken as %v, %v, %v", test, l.message, l.request, l.memory)
			}
			continue
		}
		if got := [3]cli.Size{*l.message.Size, *l.request.Size, *l.memory.Size}; err != nil || got != test.want {
			t.Errorf("%+v: %v, %v", test, got, err)
		}
	}
}
