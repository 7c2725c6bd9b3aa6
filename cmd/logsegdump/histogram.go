package main

import (
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"
)

// barWidth is the length of the longest bar in characters.
const barWidth = 50

// bar is a count of records: those from from on, before to.
type bar struct{ from, to, n int64 }

// sizeBars count sizes by powers of two.
type sizeBars struct{ n [64]int64 }

func (s *sizeBars) add(size int64) { s.n[bits.Len64(uint64(size))]++ }

func (s *sizeBars) bars() (list []bar) {
	first, last := -1, -1
	for i, n := range s.n {
		if n > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	for i := max(first, 0); i <= last; i++ {
		from := int64(0)
		if i > 0 {
			from = 1 << (i - 1)
		}
		list = append(list, bar{from, 1 << i, s.n[i]})
	}
	return list
}

func (s *sizeBars) print(w io.Writer) {
	printBars(w, s.bars(), func(b bar) string { return fmt.Sprintf("%10d..%-10d", b.from, b.to-1) })
}

// timeBars count times in steps that get wider as the times spread, so that there are never more than a screenful.
type timeBars struct {
	step int // in timeSteps
	n    map[int64]int64
}

const maxTimeBars = 24

// timeSteps are widths in ms, each a multiple of the one before. The last is wide enough for all times there are.
var timeSteps = func() (steps []int64) {
	const second, minute, hour, day = 1000, 60 * 1000, 3600 * 1000, 24 * 3600 * 1000
	steps = []int64{1, 10, 100, second, 5 * second, 10 * second, 30 * second, minute, 5 * minute, 10 * minute, 30 * minute,
		hour, 3 * hour, 6 * hour, 12 * hour, day}
	for width := int64(10 * day); width < 1<<62/10; width *= 10 {
		steps = append(steps, width)
	}
	return append(steps, steps[len(steps)-1]*10)
}()

func newTimeBars() *timeBars { return &timeBars{n: make(map[int64]int64)} }

func (t *timeBars) add(ms int64) {
	t.n[ms/timeSteps[t.step]]++
	for t.step < len(timeSteps)-1 && t.spread() > maxTimeBars {
		ratio := timeSteps[t.step+1] / timeSteps[t.step]
		wider := make(map[int64]int64, len(t.n))
		for i, n := range t.n {
			wider[i/ratio] += n
		}
		t.n, t.step = wider, t.step+1
	}
}

// spread is how many bars there are from the first to the last.
func (t *timeBars) spread() int64 {
	if len(t.n) < 2 {
		return int64(len(t.n))
	}
	first, last := t.ends()
	return last - first + 1
}

func (t *timeBars) ends() (first, last int64) {
	started := false
	for i := range t.n {
		if !started {
			first, last, started = i, i, true
		}
		first, last = min(first, i), max(last, i)
	}
	return first, last
}

func (t *timeBars) bars() (list []bar) {
	if len(t.n) == 0 {
		return nil
	}
	step := timeSteps[t.step]
	first, last := t.ends()
	for i := first; i <= last && len(list) < 2*maxTimeBars; i++ {
		list = append(list, bar{i * step, (i + 1) * step, t.n[i]})
	}
	return list
}

func (t *timeBars) print(w io.Writer) {
	layout := "2006-01-02T15:04:05.000"
	switch step := timeSteps[t.step]; {
	case step >= 24*3600*1000:
		layout = time.DateOnly
	case step >= 60*1000:
		layout = "2006-01-02T15:04"
	case step >= 1000:
		layout = "2006-01-02T15:04:05"
	}
	printBars(w, t.bars(), func(b bar) string { return fmt.Sprintf("%-23s", time.UnixMilli(b.from).UTC().Format(layout)) })
}

func printBars(w io.Writer, list []bar, label func(bar) string) {
	longest := int64(1)
	for _, b := range list {
		longest = max(longest, b.n)
	}
	for _, b := range list {
		length := (b.n*barWidth + longest - 1) / longest
		line := fmt.Sprintf("    %s %10d %s", label(b), b.n, strings.Repeat("#", int(length)))
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
