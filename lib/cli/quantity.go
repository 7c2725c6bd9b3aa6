package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"
)

// Size is a number of bytes, never negative: 4096, 64KiB, 1g. Units are powers of 1024, in either case; KB and the like
// are refused because they mean two things.
type Size int64

var sizeUnits = []struct {
	name  string
	shift int
}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}}

var errSize = errors.New("not a size: allowed are bytes, or a whole number of KiB, MiB, GiB, TiB, k, m, g or t")

// ParseSize reads a Size.
func ParseSize(s string) (Size, error) {
	digits := strings.TrimRight(s, "KMGTkmgtiIbB")
	shift := 0
	if unit := s[len(digits):]; unit != "" {
		shift = -1
		for _, u := range sizeUnits {
			if strings.EqualFold(unit, u.name) || strings.EqualFold(unit, u.name[:1]) {
				shift = u.shift
			}
		}
	}
	if !isDigits(digits) || shift < 0 {
		return 0, errSize
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, errors.New("not a size: larger than 8EiB")
	}
	return Size(n << shift), nil
}

func (s *Size) Set(value string) (err error) {
	n, err := ParseSize(value)
	if err == nil {
		*s = n
	}
	return err
}

// String is the shortest exact form: in the largest unit that divides it.
func (s *Size) String() string {
	for _, u := range sizeUnits {
		if unit := Size(1) << u.shift; *s != 0 && *s%unit == 0 {
			return strconv.FormatInt(int64(*s/unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (*Size) Placeholder() string { return "SIZE" }

// Duration is a time span that is not negative: Go's form with days added, such as 1h30m, 7d, 1d12h. A day is 24 hours.
type Duration time.Duration

var errDuration = errors.New("not a duration: allowed are numbers with ms, s, m, h or d, such as 1m30s or 7d")

// ParseDuration reads a time span with an optional sign.
func ParseDuration(s string) (time.Duration, error) {
	rest := strings.TrimLeft(s, "+-")
	if len(s)-len(rest) > 1 || rest == "" {
		return 0, errDuration
	}
	if rest == "0" {
		return 0, nil
	}
	var total time.Duration
	for rest != "" {
		unit := strings.TrimLeft(rest, "0123456789.")
		number := rest[:len(rest)-len(unit)]
		rest = strings.TrimLeftFunc(unit, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		unit = unit[:len(unit)-len(rest)]
		part, err := parsePart(number, unit)
		if err != nil {
			return 0, err
		}
		if total > math.MaxInt64-part {
			return 0, errTooLong
		}
		total += part
	}
	if s[0] == '-' {
		total = -total
	}
	return total, nil
}

var errTooLong = errors.New("not a duration: longer than 106751d")

func parsePart(number, unit string) (time.Duration, error) {
	times := time.Duration(1)
	if unit == "d" {
		unit, times = "h", 24
	}
	part, err := time.ParseDuration(number + unit)
	switch {
	case err != nil && strings.Trim(number, "0123456789") == "" && len(number) > 15:
		return 0, errTooLong
	case err != nil:
		return 0, errDuration
	case part > math.MaxInt64/times:
		return 0, errTooLong
	}
	return part * times, nil
}

func (d *Duration) Set(value string) error {
	v, err := ParseDuration(value)
	if err == nil && v < 0 {
		err = errors.New("a negative duration: allowed is 0 or more")
	}
	if err == nil {
		*d = Duration(v)
	}
	return err
}

func (d *Duration) String() string { return formatDuration(time.Duration(*d)) }

func (*Duration) Placeholder() string { return "DURATION" }

// Timeout is a Duration of at least a millisecond.
type Timeout time.Duration

func (d *Timeout) Set(value string) error {
	var v Duration
	if err := v.Set(value); err != nil {
		return err
	}
	if time.Duration(v) < time.Millisecond {
		return errors.New("too short: allowed is 1ms or more")
	}
	*d = Timeout(v)
	return nil
}

func (d *Timeout) String() string { return formatDuration(time.Duration(*d)) }

func (*Timeout) Placeholder() string { return "DURATION" }

// SignedDuration is a Duration that may be negative.
type SignedDuration time.Duration

func (d *SignedDuration) Set(value string) error {
	v, err := ParseDuration(value)
	if err == nil {
		*d = SignedDuration(v)
	}
	return err
}

func (d *SignedDuration) String() string { return formatDuration(time.Duration(*d)) }

func (*SignedDuration) Placeholder() string { return "DURATION" }

// formatDuration is Go's form without the zero units at its end: 168h, not 168h0m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Count is a number of things: decimal digits, never negative.
type Count int64

func (c *Count) Set(value string) error {
	return (&number[Count]{c, 0, math.MaxInt64}).Set(value)
}

func (c *Count) String() string { return strconv.FormatInt(int64(*c), 10) }

func (*Count) Placeholder() string { return "N" }

// Number is a value for a whole number from least to most, in decimal digits.
func Number[T ~int | ~int16 | ~int32 | ~int64](dest *T, least, most T) ucli.Generic {
	return &number[T]{dest, least, most}
}

type number[T ~int | ~int16 | ~int32 | ~int64] struct {
	dest        *T
	least, most T
}

func (n *number[T]) Set(value string) error {
	v, err := parseNumber(value)
	if err != nil || v < int64(n.least) || v > int64(n.most) {
		wrong := "out of range"
		if errors.Is(err, strconv.ErrSyntax) {
			wrong = "not a number"
		}
		if int64(n.most) == math.MaxInt64 {
			return fmt.Errorf("%s: allowed is %d or more, in decimal digits", wrong, n.least)
		}
		return fmt.Errorf("%s: allowed is %d to %d, in decimal digits", wrong, n.least, n.most)
	}
	*n.dest = T(v)
	return nil
}

func (n *number[T]) String() string { return strconv.FormatInt(int64(*n.dest), 10) }

func (*number[T]) Placeholder() string { return "N" }

// parseNumber is stricter than strconv, which takes a plus sign.
func parseNumber(s string) (int64, error) {
	if !isDigits(strings.TrimPrefix(s, "-")) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, 64)
}

// Lines is the count of tail: N (or -N) for the last N, +N for all from the N-th on.
type Lines struct {
	N         int64 // 0 or more
	FromStart bool  // +N
}

func (l *Lines) Set(value string) error {
	digits := strings.TrimPrefix(value, "-")
	fromStart := strings.HasPrefix(value, "+")
	if fromStart {
		digits = value[1:]
	}
	n, err := parseNumber(digits)
	if err != nil || n < 0 {
		return errors.New("not a count: allowed are N for the last N and +N for all from the N-th on, in decimal digits")
	}
	*l = Lines{n, fromStart}
	return nil
}

func (l *Lines) String() string {
	s := strconv.FormatInt(l.N, 10)
	if l.FromStart {
		return "+" + s
	}
	return s
}

func (*Lines) Placeholder() string { return "[+]N" }
