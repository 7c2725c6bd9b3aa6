package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"logkit/lib/cli"
)

// span is a range of numbers, from included, to not.
type span struct{ from, to int64 }

// everything is the span of all numbers, timestamps that are none included.
var everything = span{math.MinInt64, math.MaxInt64}

func (s span) has(n int64) bool { return n >= s.from && n < s.to }

// overlaps tells whether one of the numbers first to last is in the span.
func (s span) overlaps(first, last int64) bool { return last >= s.from && first < s.to }

var errIDs = errors.New("not a range of ids: allowed are A, A..B, A.. and ..B, where A and B are ids, earliest or latest")

// Set reads A, A..B, A.. or ..B, for the flag --offset.
func (s *span) Set(value string) error {
	return s.set(value, errIDs, func(text string) (int64, error) {
		o, err := cli.ParseOffset(text)
		switch {
		case err != nil:
			return 0, err
		case o.Kind == cli.OffsetEarliest:
			return math.MinInt64, nil
		case o.Kind == cli.OffsetLatest:
			return math.MaxInt64, nil
		case o.Kind == cli.OffsetID:
			return o.Value, nil
		}
		return 0, cli.WithHint(errIDs, "times are for --time")
	})
}

func (s *span) set(value string, shape error, parse func(string) (int64, error)) (err error) {
	from, to, isRange := strings.Cut(value, "..")
	set := everything
	if from != "" {
		if set.from, err = parse(from); err != nil {
			return err
		}
	}
	if to != "" {
		if set.to, err = parse(to); err != nil {
			return err
		}
	}
	if from == "" && (!isRange || to == "") {
		return shape
	}
	if set.from > set.to {
		return errors.New("a range that ends before it begins")
	}
	*s = set
	return nil
}

func (s *span) String() string {
	if *s == everything {
		return ""
	}
	text := func(n int64) string {
		if n == math.MinInt64 || n == math.MaxInt64 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	return text(s.from) + ".." + text(s.to)
}

func (*span) Placeholder() string { return "A[..B]" }

// timeSpan is a span of times, in ms since 1970.
type timeSpan struct {
	span
	now func() time.Time
}

var errTimes = errors.New("not a range of times: allowed are A, A..B, A.. and ..B, where A and B are times as behind the @ of an offset, or -DURATION")

// Set is for the flag --time. The @ before a time may be left out.
func (s *timeSpan) Set(value string) error {
	return s.set(value, errTimes, func(text string) (int64, error) {
		if text[0] != '@' && text[0] != '-' {
			text = "@" + text
		}
		o, err := cli.ParseOffset(text)
		return o.Resolve(s.now()).Value, err
	})
}
