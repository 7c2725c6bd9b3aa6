package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAdmin: topics can be looked after with every client that has the functions for it.
func TestAdmin(t *testing.T) {
	t.Parallel()
	clients, b := clients(t), StartBroker(t)
	for _, c := range clients {
		admin, ok := c.(Admin)
		if !ok {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			a := &administration{t: t, ctx: bounded(t), client: c, admin: admin, broker: b, all: clients, topic: "admin-" + c.Name()}
			a.partitions()
			a.settings()
			a.records()
			a.deletion()
		})
	}
}

// administration is one client at work on one topic.
type administration struct {
	t      *testing.T
	ctx    context.Context
	client Client
	admin  Admin
	broker *Broker
	all    []Client
	topic  string
}

func (a *administration) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// refused wants an error that says one of some words, as each client has its own: upper case, underscores and spaces
// do not count.
func (a *administration) refused(err error, words ...string) {
	a.t.Helper()
	if err == nil {
		a.t.Errorf("no error, want one of %q", words)
		return
	}
	said := strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(err.Error()))
	for _, word := range words {
		if strings.Contains(said, word) {
			return
		}
	}
	a.t.Errorf("error %v, want one of %q", err, words)
}

// seen wants every client to see so many partitions of the topic; 0: not to see it.
func (a *administration) seen(partitions int) {
	a.t.Helper()
	for _, c := range a.all {
		admin, ok := c.(Admin)
		if !ok {
			continue
		}
		topics, err := admin.Topics(a.ctx, a.broker.Addr)
		a.must(err)
		if topics[a.topic] != partitions {
			a.t.Errorf("%s sees %d partitions of %s, want %d", c.Name(), topics[a.topic], a.topic, partitions)
		}
	}
}

func (a *administration) partitions() {
	create := func(topic string, settings map[string]string) error {
		return a.admin.Create(a.ctx, a.broker.Addr, topic, 3, settings)
	}
	a.must(create(a.topic, map[string]string{"retention.ms": "3600000"}))
	a.seen(3)
	a.refused(create(a.topic, nil), "alreadyexist")
	a.refused(create("not/a/topic", nil), "invalid", "topicexception")
	a.refused(create(a.topic+"-wrong", map[string]string{"retention.ms": "soon"}), "config")

	a.must(a.admin.Grow(a.ctx, a.broker.Addr, a.topic, 5))
	a.seen(5)
	a.refused(a.admin.Grow(a.ctx, a.broker.Addr, a.topic, 2), "partition")

	p, err := a.client.Producer(a.ctx, a.broker.Addr, "none", AcksAll)
	a.must(err)
	defer p.Close()
	sent := []Record{{Time: 1_700_000_000_000, Value: []byte("in the last partition")}}
	_, err = p.Send(a.ctx, a.topic, 4, sent)
	a.must(err)
	got, err := a.client.Read(a.ctx, a.broker.Addr, a.topic, 4, Start, nil)
	a.must(err)
	compare(a.t, a.client, time.Time{}, got, sent)
}

func (a *administration) settings() {
	want := func(name, value string) {
		a.t.Helper()
		settings, err := a.admin.Settings(a.ctx, a.broker.Addr, a.topic)
		a.must(err)
		if settings[name] != value {
			a.t.Errorf("%s: setting %s is %q, want %q", a.topic, name, settings[name], value)
		}
	}
	const week, mebibyte = "604800000", "1048576"
	want("retention.ms", "3600000")
	want("max.message.bytes", mebibyte)

	a.must(a.admin.Replace(a.ctx, a.broker.Addr, a.topic, map[string]string{"max.message.bytes": "2000"}))
	want("retention.ms", week)
	want("max.message.bytes", "2000")
	p, err := Franz{}.Producer(a.ctx, a.broker.Addr, "none", AcksAll)
	a.must(err)
	defer p.Close()
	large := []Record{{Time: 1_700_000_000_000, Value: make([]byte, 2000)}}
	_, err = p.Send(a.ctx, a.topic, 1, large)
	a.refused(err, "toolarge")

	a.refused(a.admin.Replace(a.ctx, a.broker.Addr, a.topic, map[string]string{"max.message.bytes": "-7"}), "config")
	a.refused(a.admin.Replace(a.ctx, a.broker.Addr, "no-such-topic", map[string]string{"max.message.bytes": "2000"}), "unknown", "notexist")
	want("max.message.bytes", "2000")

	err = a.admin.Adjust(a.ctx, a.broker.Addr, a.topic, "retention.ms", "7200000", "max.message.bytes")
	if errors.Is(err, ErrCannot) {
		return
	}
	a.must(err)
	want("retention.ms", "7200000")
	want("max.message.bytes", mebibyte)
	_, err = p.Send(a.ctx, a.topic, 1, large)
	a.must(err)
}

// records deletes some and then all of a partition. Every client then sees where the log starts.
func (a *administration) records() {
	var sent []Record
	for i := range 9 {
		sent = append(sent, Record{Time: 1_700_000_000_000, Value: []byte(fmt.Sprint(i))})
	}
	ids := produce(a.ctx, a.t, Franz{}, a.broker, a.topic, "none", AcksAll, sent[:3], sent[3:6], sent[6:])
	within := ids[4]
	err := a.admin.DeleteRecords(a.ctx, a.broker.Addr, a.topic, 0, within)
	if errors.Is(err, ErrCannot) {
		return
	}
	a.must(err)
	left := sent[4:]
	for i := range left {
		left[i].ID = ids[4+i]
	}
	end := ids[8] + 1
	for _, c := range a.all {
		places, err := c.Times(a.ctx, a.broker.Addr, a.topic, 0, []int64{Start, End})
		a.must(err)
		if places[0] != within || places[1] != end {
			a.t.Errorf("%s: log from %d to %d, want from %d to %d", c.Name(), places[0], places[1], within, end)
		}
		got, err := c.Read(a.ctx, a.broker.Addr, a.topic, 0, Start, nil)
		a.must(err)
		compare(a.t, c, time.Time{}, got, left)
	}
	a.refused(a.admin.DeleteRecords(a.ctx, a.broker.Addr, a.topic, 0, end+1), "range")

	a.must(a.admin.DeleteRecords(a.ctx, a.broker.Addr, a.topic, 0, End))
	for _, c := range a.all {
		got, err := c.Read(a.ctx, a.broker.Addr, a.topic, 0, Start, nil)
		a.must(err)
		places, err := c.Times(a.ctx, a.broker.Addr, a.topic, 0, []int64{Start, End})
		a.must(err)
		if len(got) > 0 || places[0] != end || places[1] != end {
			a.t.Errorf("%s: %d records, log from %d to %d, want none at %d", c.Name(), len(got), places[0], places[1], end)
		}
	}
}

func (a *administration) deletion() {
	a.must(a.admin.Delete(a.ctx, a.broker.Addr, a.topic))
	a.seen(0)
	a.refused(a.admin.Delete(a.ctx, a.broker.Addr, a.topic), "unknown", "notexist")
}
