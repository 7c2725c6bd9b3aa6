package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

// selection is a topic, or some of its partitions.
type selection struct {
	topic      string
	partitions []int32 // sorted, each once; nil: all
}

func (s selection) String() string {
	if s.partitions == nil {
		return s.topic
	}
	return s.topic + ":" + ranges(s.partitions)
}

var errSelection = errors.New("not a topic: allowed are TOPIC and TOPIC:P,P-P,... with numbers of partitions")

// maxPartition bounds what a range such as 0-2147483647 makes of memory. Kafka has no limit of its own.
const maxPartition = 1<<20 - 1

// parseSelection is unambiguous: names of topics have no colon.
func parseSelection(text string) ([]selection, error) {
	topic, list, some := strings.Cut(text, ":")
	if topic == "" {
		return nil, errSelection
	}
	if err := registry.CheckTopic(topic); err != nil {
		return nil, err
	}
	s := selection{topic: topic}
	if !some {
		return []selection{s}, nil
	}
	s.partitions = []int32{}
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := parsePartition(first)
		if err != nil {
			return nil, err
		}
		to, err := parsePartition(last)
		if err != nil {
			return nil, err
		}
		if to < from {
			return nil, errSelection
		}
		for p := from; p <= to; p++ {
			s.partitions = append(s.partitions, p)
		}
	}
	slices.Sort(s.partitions)
	if same := slices.Compact(slices.Clone(s.partitions)); len(same) != len(s.partitions) {
		return nil, errors.New("a partition is named twice")
	}
	return []selection{s}, nil
}

func parsePartition(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || strings.Trim(text, "0123456789") != "" {
		return 0, errSelection
	}
	if n > maxPartition {
		return 0, fmt.Errorf("partition %d is out of range: allowed are 0 to %d", n, maxPartition)
	}
	return int32(n), nil
}

// ranges is a list of numbers, sorted, in the form 0-3,7.
func ranges(numbers []int32) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(numbers[i])))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(int(numbers[j])))
		}
		i = j + 1
	}
	return b.String()
}

func parseMembers(text string) ([]string, error) {
	names := strings.Split(text, ",")
	if slices.Contains(names, "") {
		return nil, errors.New("a member without a name: allowed are names, commas between several")
	}
	return names, nil
}

func identity(s string) string { return s }

// target is a value for an offset. What is not one is, most likely, a number of ids or the beginning of a time span.
type target struct{ *cli.Offset }

func (t target) Set(text string) error {
	err := t.Offset.Set(text)
	if digits, negative := strings.CutPrefix(text, "-"); err != nil && negative && digits != "" && strings.Trim(digits, "0123456789") == "" {
		return cli.WithHint(err, fmt.Sprintf("--shift -%s goes back by that many ids, which are bytes; --to -%ss to that many seconds ago", digits, digits))
	}
	return err
}

// How often a group is looked at: brokers and ZooKeeper are asked for each of its partitions.
const (
	defaultInterval = 2 * time.Second
	leastInterval   = 100 * time.Millisecond
)

// intervalValue is a value for a duration of at least leastInterval.
type intervalValue struct{ *cli.Duration }

func (i *intervalValue) Set(text string) error {
	var d cli.Duration
	if err := d.Set(text); err != nil {
		return err
	}
	if time.Duration(d) < leastInterval {
		return fmt.Errorf("too short: allowed is %v or more", leastInterval)
	}
	*i.Duration = d
	return nil
}

// shiftValue is a value for a number with an optional sign, which need not be given.
type shiftValue struct{ dest **int64 }

func (v shiftValue) Set(text string) error {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(text)-len(digits) > 1 {
		return errors.New("not a number of ids: allowed are +N and -N, in decimal digits")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("out of range: allowed are %d to %d", math.MinInt64, math.MaxInt64)
	}
	*v.dest = &n
	return nil
}

func (v shiftValue) String() string {
	if v.dest == nil || *v.dest == nil {
		return ""
	}
	return strconv.FormatInt(**v.dest, 10)
}

func (shiftValue) Placeholder() string { return "[+|-]N" }

// threshold is a value for a size that need not be given.
type threshold struct{ dest **cli.Size }

func (t threshold) Set(text string) error {
	size, err := cli.ParseSize(text)
	if err == nil {
		*t.dest = &size
	}
	return err
}

func (t threshold) String() string {
	if t.dest == nil || *t.dest == nil {
		return ""
	}
	return (*t.dest).String()
}

func (threshold) Placeholder() string { return "SIZE" }
