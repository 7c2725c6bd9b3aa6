package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// OffsetKind says how an [Offset] names its place.
type OffsetKind int8

const (
	OffsetUnset    OffsetKind = iota // no offset was given
	OffsetEarliest                   // the first retained message
	OffsetLatest                     // the end
	OffsetID                         // Value is a message's id
	OffsetTime                       // Value is a time, in ms since 1970
	OffsetAgo                        // Value is a time span before now, in ms; Resolve makes it an OffsetTime
)

// Offset is a place in a partition, as a user names it:
//
//	earliest, beginning    latest, end
//	42                     an id
//	@2024-05-01T10:00:00Z  a time (RFC 3339); a date, or a date and a time without a zone, is local
//	@1714557600            Unix seconds; milliseconds from 12 digits on
//	-3d                    a time span ago
//
// Times before 1970 mean 1970: negative times have other meanings in Kafka's ListOffsets.
type Offset struct {
	Kind  OffsetKind
	Value int64
}

var errOffset = errors.New("not an offset: allowed are earliest, latest, an id, @TIME and -DURATION")

// ParseOffset reads an [Offset].
func ParseOffset(s string) (Offset, error) {
	switch {
	case s == "earliest" || s == "beginning":
		return Offset{Kind: OffsetEarliest}, nil
	case s == "latest" || s == "end":
		return Offset{Kind: OffsetLatest}, nil
	case isDigits(s):
		id, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return Offset{}, errors.New("not an id: larger than 9223372036854775807")
		}
		return Offset{OffsetID, id}, nil
	case strings.HasPrefix(s, "@"):
		ms, err := parseTime(s[1:])
		return Offset{OffsetTime, ms}.orNone(err)
	case strings.HasPrefix(s, "-") && isDigits(s[1:]):
		hint := "the last " + s[1:] + " messages are -n " + s[1:]
		if s == "-1" {
			hint = "the last message is -n 1"
		}
		return Offset{}, WithHint(errOffset, hint)
	case len(s) > 1 && s[0] == '-':
		ago, err := ParseDuration(s[1:])
		if errors.Is(err, errDuration) || strings.ContainsAny(s[1:2], "+-") {
			err = errOffset
		}
		return Offset{OffsetAgo, ago.Milliseconds()}.orNone(err)
	}
	return Offset{}, errOffset
}

func (o Offset) orNone(err error) (Offset, error) {
	if err != nil {
		return Offset{}, err
	}
	return o, nil
}

const millisecondDigits = 12 // from here on digits are ms: 11 digits of seconds reach the year 5138

var timeLayouts = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

func parseTime(s string) (ms int64, err error) {
	if isDigits(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, errTime
		}
		if len(s) < millisecondDigits {
			n *= 1000
		}
		return n, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	for _, layout := range timeLayouts {
		if err == nil {
			return max(0, t.UnixMilli()), nil
		}
		t, err = time.ParseInLocation(layout, s, time.Local)
	}
	if err != nil {
		return 0, errTime
	}
	return max(0, t.UnixMilli()), nil
}

var errTime = errors.New("not a time: allowed behind @ are RFC 3339, a local date or date and time, and Unix seconds or milliseconds")

// IsSet reports whether an offset was given.
func (o Offset) IsSet() bool { return o.Kind != OffsetUnset }

// Resolve turns a time span ago into the time it means at now; other kinds stay as they are.
func (o Offset) Resolve(now time.Time) Offset {
	if o.Kind != OffsetAgo {
		return o
	}
	return Offset{OffsetTime, max(0, now.UnixMilli()-o.Value)}
}

func (o *Offset) Set(value string) (err error) {
	parsed, err := ParseOffset(value)
	if err == nil {
		*o = parsed
	}
	return err
}

func (o *Offset) String() string {
	switch o.Kind {
	case OffsetEarliest:
		return "earliest"
	case OffsetLatest:
		return "latest"
	case OffsetID:
		return strconv.FormatInt(o.Value, 10)
	case OffsetTime:
		return "@" + time.UnixMilli(o.Value).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	case OffsetAgo:
		return "-" + formatDuration(time.Duration(o.Value)*time.Millisecond)
	}
	return ""
}

func (*Offset) Placeholder() string { return "OFFSET" }

// Choices are the words among the offsets, for completions.
func (*Offset) Choices() []string { return []string{"earliest", "latest"} }
