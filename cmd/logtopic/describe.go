package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"logkit/lib/cli"
	"logkit/lib/client"
)

func (o *options) list(ctx context.Context, s *session, _ []string) error {
	topics, err := s.Topics(ctx)
	if err != nil {
		return err
	}
	if o.quiet && !o.json {
		var names []byte
		for _, t := range topics {
			names = append(append(names, t.Name...), '\n')
		}
		return written(s.env.Stdout.Write(names))
	}
	rows := make([]listed, len(topics))
	for i, t := range topics {
		rows[i] = listed{t.Name, len(t.Partitions)}
	}
	return print(s, rows)
}

// listed is a line of list.
type listed struct {
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
}

func (listed) Columns() []string { return []string{"TOPIC", ">PARTITIONS"} }
func (l listed) Cells() []string { return []string{l.Topic, fmt.Sprint(l.Partitions)} }

// describe prints all that is found, and returns what is not.
func (o *options) describe(ctx context.Context, s *session, names []string) error {
	all := len(names) == 0
	if all {
		topics, err := s.Topics(ctx)
		if err != nil {
			return err
		}
		for _, t := range topics {
			names = append(names, t.Name)
		}
	}
	var rows []*row
	var errs []error
	for _, name := range names {
		found, err := s.describe(ctx, name)
		switch {
		case errors.Is(err, client.ErrUnavailable), ctx.Err() != nil:
			return err // the others would only be waited for as long
		case err != nil && !(all && errors.Is(err, client.ErrUnknownTopic)): // else it was deleted in between
			errs = append(errs, err)
		}
		rows = append(rows, found...)
	}
	return errors.Join(append(errs, print(s, rows))...)
}

// row is a partition as it is described. What is not known is nil.
type row struct {
	Topic     string            `json:"topic"`
	Partition int32             `json:"partition"`
	Leader    *int32            `json:"leader"`
	LogStart  *int64            `json:"log_start"`
	LogEnd    *int64            `json:"log_end"`
	SizeBytes *int64            `json:"size_bytes"`
	Segments  *int64            `json:"segments,omitempty"` // only logd tells it
	Config    map[string]string `json:"config"`
	Deleted   *bool             `json:"deleted,omitempty"` // of delete
}

func (*row) Columns() []string {
	return []string{"TOPIC", ">PARTITION", ">LEADER", ">LOG-START", ">LOG-END",
		">SIZE", ">SEGMENTS", "CONFIG"}
}

func (r *row) Cells() []string {
	return []string{r.Topic, fmt.Sprint(r.Partition), cli.Known(r.Leader), cli.Known(r.LogStart), cli.Known(r.LogEnd),
		cli.Known(r.SizeBytes), cli.Known(r.Segments), configText(r.Config)}
}

// describe looks at every partition of a topic. A leader that goes while it is asked is none: it looks once more.
func (s *session) describe(ctx context.Context, name string) ([]*row, error) {
	t, err := s.Topic(ctx, name, false)
	if err != nil {
		return nil, err
	}
	rows, err := s.describePartitions(ctx, t)
	if errors.Is(err, kerr.LeaderNotAvailable) || errors.Is(err, client.ErrUnavailable) {
		if now, lookUpErr := s.Topic(ctx, name, false); lookUpErr == nil && !slices.Equal(now.Partitions, t.Partitions) {
			return s.describePartitions(ctx, now)
		}
	}
	return rows, err
}

func (s *session) describePartitions(ctx context.Context, t client.Topic) ([]*row, error) {
	config, err := s.Settings(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	sizes, err := s.Sizes(ctx, t)
	if err != nil {
		return nil, err
	}
	var led []int32 // partitions that can be asked for their ids
	for _, p := range t.Partitions {
		if p.Leader >= 0 {
			led = append(led, p.ID)
		}
	}
	marks := make(map[int64]map[int32]int64)
	for _, at := range []int64{client.AtStart, client.AtEnd} {
		if len(led) == 0 {
			break
		}
		if marks[at], err = s.Offsets(ctx, t.Name, led, at); err != nil {
			return nil, err
		}
	}
	rows := make([]*row, len(t.Partitions))
	for i, p := range t.Partitions {
		r := &row{Topic: t.Name, Partition: p.ID, Config: config}
		if p.Leader >= 0 {
			r.Leader = &p.Leader
		}
		r.LogStart, r.LogEnd = pick(marks[client.AtStart], p.ID), pick(marks[client.AtEnd], p.ID)
		if size, ok := sizes[p.ID]; ok {
			r.SizeBytes = &size.Bytes
			if size.Segments >= 0 {
				r.Segments = &size.Segments
			}
		}
		rows[i] = r
	}
	return rows, nil
}

func pick(ids map[int32]int64, partition int32) *int64 {
	if id, ok := ids[partition]; ok {
		return &id
	}
	return nil
}
