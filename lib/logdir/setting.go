package logdir

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"logkit/lib/commitlog"
)

// maxMessageBytes is the name of the setting that the size of the largest batch has.
const maxMessageBytes = "max.message.bytes"

// Settings are what somebody has set for a topic, by the names of Kafka; a name that is missing follows the broker.
type Settings map[string]string

// integers are the names that a topic can have set, and the smallest and largest value of each.
var integers = map[string]struct{ min, max int64 }{
	"flush.messages":  {1, math.MaxInt64},
	"flush.ms":        {0, math.MaxInt64},
	maxMessageBytes:   {1, math.MaxInt32},
	"retention.bytes": {-1, math.MaxInt64},
	"retention.ms":    {-1, math.MaxInt64},
	"segment.bytes":   {1024, math.MaxInt32},
	"segment.ms":      {1, math.MaxInt64},
}

// fixed are names that Kafka's clients and scripts set by habit, with the one value that describes every log here.
var fixed = map[string]string{
	"cleanup.policy":         "delete",
	"compression.type":       "producer",
	"message.timestamp.type": "CreateTime",
	"min.insync.replicas":    "1",
}

// SettingNames are the names that a topic can have set, sorted, without those that allow one value only.
func SettingNames() []string { return slices.Sorted(maps.Keys(integers)) }

// SettingError says why a topic cannot have that setting.
type SettingError struct {
	Name, Value string
	Reason      string
}

func (e *SettingError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("setting %s: %s", e.Name, e.Reason)
	}
	return fmt.Sprintf("setting %s=%q: %s", e.Name, e.Value, e.Reason)
}

// CheckSettingName tells whether a topic can have a setting of that name. The error is a *SettingError.
func CheckSettingName(name string) error {
	if _, ok := integers[name]; ok {
		return nil
	}
	if _, ok := fixed[name]; ok {
		return nil
	}
	return &SettingError{Name: name, Reason: "unknown, allowed are " + strings.Join(SettingNames(), ", ")}
}

// Check tells whether all names are known and all values allowed. The error is a *SettingError.
func (s Settings) Check() error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, err := s.number(name); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) number(name string) (int64, error) {
	if err := CheckSettingName(name); err != nil {
		return 0, err
	}
	value, allowed := s[name], integers[name]
	if only, ok := fixed[name]; ok {
		if value == only {
			return 0, nil
		}
		return 0, &SettingError{name, value, "only " + only + " is supported"}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < allowed.min || n > allowed.max {
		return 0, &SettingError{name, value, fmt.Sprintf("an integer from %d to %d is allowed", allowed.min, allowed.max)}
	}
	return n, nil
}

// Effective is how the logs of a topic are kept: its own settings over those of the directory.
type Effective struct {
	Log       commitlog.Options
	Retention commitlog.Retention
}

// effective lays s, which must have been checked, over the options of the directory.
func (s Settings) effective(o *Options) Effective {
	e := Effective{Log: o.Log, Retention: o.Retention}
	for name := range s {
		n, err := s.number(name)
		if err != nil {
			continue // never: s has been checked
		}
		switch name {
		case "flush.messages":
			e.Log.FlushMessages = n
		case "flush.ms":
			e.Log.FlushInterval = max(milliseconds(n), time.Nanosecond)
		case "retention.bytes":
			e.Retention.Bytes = max(n, 0)
		case "retention.ms":
			// 0 of Kafka means at once, -1 never; here 0 is never.
			e.Retention.Age = max(milliseconds(n), 0)
			if n == 0 {
				e.Retention.Age = time.Nanosecond
			}
		case "segment.bytes":
			e.Log.SegmentBytes = n
		case "segment.ms":
			e.Log.SegmentAge = milliseconds(n)
		}
	}
	return e
}

// milliseconds is n ms, or the longest duration when that is longer.
func milliseconds(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Millisecond
}
