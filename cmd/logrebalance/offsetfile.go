package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

// saved is a line of export, of --undo-file, and of what import reads:
//
//	{"group":"g","topic":"t","partition":0,"offset":42}
//
// An offset of null stands for none: nothing was ever committed. A group whose name is not UTF-8 is in group_base64.
type saved struct {
	Group       *string `json:"group"`
	GroupBase64 []byte  `json:"group_base64,omitempty"`
	Topic       string  `json:"topic"`
	Partition   int32   `json:"partition"`
	Offset      *int64  `json:"offset"`
	To          *int64  `json:"to,omitempty"` // in an undo file, as long as the reset is not finished: where it goes
}

func (s *saved) name() string {
	if s.Group != nil {
		return *s.Group
	}
	return string(s.GroupBase64)
}

// maxLine bounds a line of a file, in bytes: a name of a group takes up to 1,024 bytes, or six times as many in escapes.
const maxLine = 64 << 10

// readSaved reads lines until the end. Each group, topic and partition may come once.
func readSaved(r io.Reader) ([]saved, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var all []saved
	type key struct {
		group, topic string
		partition    int32
	}
	seen := map[key]int{}
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // a byte order mark, of an editor
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || n == 1 && parseUnfinished(line) != nil {
			continue
		}
		s, err := parseSaved(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		k := key{s.name(), s.Topic, s.Partition}
		if first, again := seen[k]; again {
			return nil, fmt.Errorf("line %d: topic %q: partition %d: again, after line %d", n, s.Topic, s.Partition, first)
		}
		seen[k] = n
		all = append(all, s)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	} else if err != nil {
		return nil, err
	}
	return all, nil
}

var errSaved = errors.New(`not an offset: allowed is {"group":"g","topic":"t","partition":0,"offset":42}`)

func parseSaved(line []byte) (saved, error) {
	var j struct {
		Group       *string `json:"group"`
		GroupBase64 []byte  `json:"group_base64"`
		Topic       *string `json:"topic"`
		Partition   *int32  `json:"partition"`
		Offset      *int64  `json:"offset"`
		To          *int64  `json:"to"`
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(line, &j); err != nil {
		return saved{}, explainJSON(err)
	}
	if err := json.Unmarshal(line, &has); err != nil {
		return saved{}, fmt.Errorf("%w (%v)", errSaved, err)
	}
	_, given := has["offset"]
	switch {
	case j.Group == nil && j.GroupBase64 == nil:
		return saved{}, fmt.Errorf("%w: no group", errSaved)
	case j.Group != nil && j.GroupBase64 != nil:
		return saved{}, fmt.Errorf("%w: two groups", errSaved)
	case j.Topic == nil || *j.Topic == "":
		return saved{}, fmt.Errorf("%w: no topic", errSaved)
	case registry.CheckTopic(*j.Topic) != nil:
		return saved{}, fmt.Errorf("%w: %w", errSaved, registry.CheckTopic(*j.Topic))
	case j.Partition == nil || *j.Partition < 0:
		return saved{}, fmt.Errorf("%w: no partition", errSaved)
	case !given:
		return saved{}, fmt.Errorf("%w: no offset", errSaved)
	case j.Offset != nil && *j.Offset < 0:
		return saved{}, fmt.Errorf("%w: offset %d, allowed are 0 or more, and null for none", errSaved, *j.Offset)
	}
	return saved{j.Group, j.GroupBase64, *j.Topic, *j.Partition, j.Offset, j.To}, nil
}

// explainJSON words an error without the names of types.
func explainJSON(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &kind):
		return fmt.Errorf("%w (%w)", errSaved, err)
	case kind.Field == "":
		return fmt.Errorf("%w: %s instead of an object", errSaved, kind.Value)
	}
	return fmt.Errorf("%w: %s: %s is none", errSaved, kind.Field, kind.Value)
}

// load reads the file of import: what it says of the group, or of the one other group that it is about.
func (s *session) load(ctx context.Context, path, group string) ([]saved, error) {
	in, what := cli.Input(ctx, s.env.Stdin), "standard input"
	if path != "-" {
		f, err := cli.OpenInput(ctx, path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, what = f, path
	}
	all, err := readSaved(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var groups []string
	for i := range all {
		if name := all[i].name(); !slices.Contains(groups, name) && len(groups) < 100 {
			groups = append(groups, name)
		}
	}
	switch {
	case len(groups) == 0:
		return nil, fmt.Errorf("%s: no offsets", what)
	case len(groups) == 1:
		if groups[0] != group && !s.o.quiet {
			s.env.Say("%s: these are offsets of group %q", what, groups[0])
		}
		return all, nil
	}
	mine := slices.DeleteFunc(all, func(l saved) bool { return l.name() != group })
	if len(mine) == 0 {
		return nil, fmt.Errorf("%s: no offsets of group %q, but of %s", what, group, strings.Join(quoted(groups), ", "))
	}
	return mine, nil
}

func quoted(names []string) []string {
	const most = 10
	var all []string
	for i, n := range names {
		if i == most {
			return append(all, "others")
		}
		all = append(all, fmt.Sprintf("%q", n))
	}
	return all
}

func (o *options) checkExport(args []string) error {
	switch {
	case (len(args) == 1) == o.allGroups:
		return cli.Usagef("either GROUP or --all-groups says what of")
	case o.allGroups && len(o.topics) > 0:
		return cli.Usagef("--all-groups and --topic exclude each other: not all groups have the topic")
	}
	return nil
}

// exporting is the command, which knows by its operands what it shall do.
func (o *options) exporting(ctx context.Context, env *cli.Env, args []string) error {
	return o.with(registryOnly, o.export, func() error { return o.checkExport(args) })(ctx, env, args)
}

func (o *options) export(ctx context.Context, s *session, args []string) error {
	names := args
	if o.allGroups {
		var err error
		if names, err = s.Groups(ctx); err != nil {
			return err
		}
	}
	exported := make([][]byte, len(names))
	err := each(len(names), func(i int) (err error) {
		exported[i], err = s.exported(ctx, names[i])
		if o.allGroups && errors.As(err, new(*unknownGroupError)) { // deleted meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.write(slices.Concat(exported...))
}

func (s *session) exported(ctx context.Context, name string) ([]byte, error) {
	g, err := s.group(ctx, name)
	if err != nil {
		return nil, err
	}
	v, err := s.survey(ctx, g, false)
	if err != nil {
		return nil, err
	}
	s.forgotten(v)
	group := nameOf(g)
	var lines []saved
	for _, p := range v.partitions() {
		if !p.never() {
			lines = append(lines, saved{group.text, group.raw, p.topic, p.partition, &p.committed, nil})
		}
	}
	return cli.Objects(lines)
}

// offsetOf is what savedOffset has made of an offset.
func offsetOf(saved *int64) int64 {
	if saved == nil {
		return registry.NoOffset
	}
	return *saved
}

// savedOffset is an offset as a line has it.
func savedOffset(offset int64) *int64 {
	if offset == registry.NoOffset {
		return nil
	}
	return &offset
}
