package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/record"
	"logkit/lib/registry"
)

// world is a topic "t", the brokers that have it, a ZooKeeper, and what members of the group "g" deliver.
type world struct {
	t      testing.TB
	target target
	admin  session
	group  *registry.Group
	log    *fakeLog

	mu        sync.Mutex
	produced  map[int32][]int64
	delivered map[int32][]int64
	by        map[string]int // deliveries of each member
	runners   []*runner
}

func newWorld(t testing.TB, target target, partitions int) *world {
	t.Helper()
	w := &world{t: t, target: target, admin: target.session(t), log: newLog(), produced: map[int32][]int64{}, delivered: map[int32][]int64{}, by: map[string]int{}}
	w.create(partitions)
	var err error
	w.group, err = w.admin.Group("g")
	must(t, err)
	return w
}

func (w *world) create(partitions int) registry.Topic {
	w.t.Helper()
	w.log.change(func() { delete(w.log.topics, "t") })
	w.log.add("t", partitions)
	const atOnce = 1500
	topic, err := w.admin.CreateTopic(deadline(w.t), "t", replicas(0, min(partitions, atOnce)), nil)
	must(w.t, err)
	if partitions > atOnce {
		topic, err = w.admin.AddPartitions(deadline(w.t), topic, replicas(atOnce, partitions-atOnce))
		must(w.t, err)
	}
	return topic
}

func replicas(from, n int) (list [][]int32) {
	for i := range n {
		list = append(list, []int32{int32(from + i)})
	}
	return list
}

func (w *world) topic() registry.Topic {
	w.t.Helper()
	topic, found, err := w.admin.Topic(deadline(w.t), "t")
	must(w.t, err)
	if !found {
		w.t.Fatal("no topic")
	}
	return topic
}

func (w *world) grow(n int) {
	w.t.Helper()
	topic := w.topic()
	w.log.add("t", n)
	_, err := w.admin.AddPartitions(deadline(w.t), topic, replicas(len(topic.Replicas), n))
	must(w.t, err)
}

// produce appends a batch of n records to each of the partitions.
func (w *world) produce(n int, partitions ...int32) {
	for _, p := range partitions {
		ids := w.log.produce("t", p, n)
		w.mu.Lock()
		w.produced[p] = append(w.produced[p], ids...)
		w.mu.Unlock()
	}
}

// runner is a member, and the goroutine that delivers what it gets.
type runner struct {
	*Member
	w        *world
	s        session
	cancel   context.CancelFunc
	finished chan struct{}
	err      error // of Next

	mu     sync.Mutex
	events []Event
	gate   chan struct{} // writes wait for it, when there is one
	inside int           // writes that wait
}

// join starts a member that follows, unless edit says otherwise.
func (w *world) join(name string, edit func(*Options)) *runner {
	w.t.Helper()
	return w.joinBy(w.target.session(w.t), name, edit)
}

func (w *world) joinBy(s session, name string, edit func(*Options)) *runner {
	w.t.Helper()
	r := &runner{w: w, s: s, finished: make(chan struct{})}
	o := Options{
		Session: s.Session, Source: w.log, Group: "g", Member: name, Topics: []string{"t"}, Follow: true,
		CommitEvery: 20 * time.Millisecond, Debounce: 5 * time.Millisecond, Retry: 20 * time.Millisecond, Drain: patience, Told: r.told,
	}
	if edit != nil {
		edit(&o)
	}
	var err error
	r.Member, err = Join(deadline(w.t), o)
	must(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	w.mu.Lock()
	w.runners = append(w.runners, r)
	w.mu.Unlock()
	go r.run(ctx)
	w.t.Cleanup(func() {
		r.open()
		cancel()
		<-r.finished
		if err := r.Close(deadline(w.t)); err != nil && !errors.Is(err, ErrUncommitted) {
			w.t.Error(err)
		}
	})
	return r
}

func (r *runner) told(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if e.Kind == Lost && e.Err == nil {
		r.w.t.Errorf("member %s: lost without a reason: %+v", r.Name(), e)
	}
}

// claimed shows the claims in full.
func (r *runner) claimed() (text string) {
	r.Member.mu.Lock()
	defer r.Member.mu.Unlock()
	for p, c := range r.claims {
		text += fmt.Sprintf("%v: %+v ", p, *c)
	}
	return fmt.Sprintf("%ssettled %v, alive %v, error %v", text, r.settled, r.alive(), r.Member.err)
}

// story is what the member has told, the last of it.
func (r *runner) story() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%v", r.events[max(0, len(r.events)-12):])
}

// saw counts the events of a kind.
func (r *runner) saw(kind Kind) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (r *runner) run(ctx context.Context) {
	defer close(r.finished)
	var it record.Iterator
	var rec record.Record
	for {
		b, err := r.Next(ctx)
		if err != nil {
			r.err = err
			return
		}
		var ids []int64
		for _, batch := range b.Batches {
			must(r.w.t, it.Reset(batch))
			for it.Next(&rec) {
				if rec.Offset >= b.From && rec.Offset < b.End {
					ids = append(ids, rec.Offset)
				}
			}
		}
		if len(ids) == 0 {
			continue
		}
		err = b.Deliver(ctx, ids[len(ids)-1]+1, func() error {
			r.write(ctx)
			r.w.mu.Lock()
			defer r.w.mu.Unlock()
			r.w.delivered[b.Partition] = append(r.w.delivered[b.Partition], ids...)
			r.w.by[r.Name()] += len(ids)
			return nil
		})
		if err != nil && !errors.Is(err, ErrRevoked) && ctx.Err() == nil {
			r.w.t.Errorf("member %s: %v", r.Name(), err)
		}
	}
}

// write waits while the gate is shut.
func (r *runner) write(ctx context.Context) {
	r.mu.Lock()
	gate := r.gate
	r.inside++
	r.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	r.inside--
	r.mu.Unlock()
}

func (r *runner) shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = make(chan struct{})
}

func (r *runner) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate != nil {
		close(r.gate)
		r.gate = nil
	}
}

func (r *runner) blocked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gate != nil && r.inside > 0
}

// leave ends a member as INT does.
func (r *runner) leave() {
	r.w.t.Helper()
	r.cancel()
	<-r.finished
	must(r.w.t, r.Close(deadline(r.w.t)))
	r.s.Close()
}

// ended waits for the member to end, and returns why.
func (r *runner) ended() error {
	r.w.t.Helper()
	select {
	case <-r.finished:
	case <-time.After(patience):
		r.w.t.Fatal("has not ended")
	}
	return r.err
}

// await waits until something holds; got says what there is instead.
func (w *world) await(what string, holds func() bool, got func() string) {
	w.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			text := ""
			if got != nil {
				text = "; there is " + got()
			}
			w.t.Fatalf("%s: not within %v%s", what, patience, text)
		}
	}
}

type shares map[*runner][]int32

// settled waits until each member has these partitions, and knows that it shall have no others.
func (w *world) settled(want shares) {
	w.t.Helper()
	w.await("shares", func() bool {
		for r, ids := range want {
			if owned, settled := r.Assignment(); !settled || !slices.Equal(owned["t"], ids) {
				return false
			}
		}
		return true
	}, func() string {
		var text strings.Builder
		for r, ids := range want {
			owned, settled := r.Assignment()
			fmt.Fprintf(&text, "\n%s: %v, settled %v, want %v; %+v", r.Name(), owned["t"], settled, ids, r.events)
		}
		return text.String()
	})
}

// read waits until everything that was produced is delivered.
func (w *world) read() {
	w.t.Helper()
	w.await("messages", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for p, ids := range w.produced {
			if len(missing(ids, w.delivered[p])) > 0 {
				return false
			}
		}
		return true
	}, func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		text := fmt.Sprintf("%v of %v, owned by %v", w.delivered, w.produced, w.seats())
		for _, r := range w.runners {
			text += fmt.Sprintf("\n%s: %s, %s", r.Name(), r.story(), r.claimed())
		}
		return text
	})
}

func missing(want, got []int64) (ids []int64) {
	have := map[int64]bool{}
	for _, id := range got {
		have[id] = true
	}
	for _, id := range want {
		if !have[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// once wants everything delivered exactly once, and in order.
func (w *world) once() {
	w.t.Helper()
	w.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !cmp.Equal(w.delivered, w.produced) {
		w.t.Errorf("delivered\n%v, produced\n%v", w.delivered, w.produced)
	}
}

// committed waits until the group has committed these offsets of the first partitions; end means all that was produced.
const end = -9

func (w *world) committed(want ...int64) {
	w.t.Helper()
	ids := make([]int32, len(want))
	for i := range ids {
		ids[i] = int32(i)
		if w.mu.Lock(); want[i] == end {
			want[i] = 0
			if list := w.produced[int32(i)]; len(list) > 0 {
				want[i] = list[len(list)-1] + 1
			}
		}
		w.mu.Unlock()
	}
	topic := w.topic()
	var got []int64
	w.await("offsets", func() bool {
		var err error
		got, err = w.group.Offsets(deadline(w.t), topic, ids)
		must(w.t, err)
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("%v, want %v", got, want) })
}

// seat says who owns what, by the registry.
func (w *world) seats() map[int32]string {
	owners, err := w.group.Owners(deadline(w.t), "t")
	must(w.t, err)
	return maps.Clone(owners)
}
