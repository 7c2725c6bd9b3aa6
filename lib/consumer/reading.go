package consumer

import (
	"errors"
	"sync"

	"logkit/lib/client"
	"logkit/lib/registry"
)

// open begins to read what was claimed.
func (m *Member) open(c *claim) {
	c.span = client.Span{Topic: c.topic, Partition: c.id, End: client.NoEnd}
	if m.ends != nil {
		end, there := m.ends[c.partition]
		c.span.End, c.blank = end, !there
	}
	m.mu.Lock()
	m.claims[c.partition] = c
	m.mu.Unlock()
	m.tell(Event{Kind: Claimed, Topic: c.topic, Partition: c.id, Offset: c.owned.Offset})
}

// begin reads partitions, each from its offset on. Batches of them that were handed over before are not to be delivered
// any more.
func (m *Member) begin(claims []*claim, offset func(i int) int64) {
	var spans []client.Span
	unknown := map[string][]seeker{}
	m.reads.Lock()
	for i, c := range claims {
		m.mu.Lock()
		tag := c.span.Tag
		m.mu.Unlock()
		switch span, s := m.place(c, tag, offset(i), false); {
		case s.claim != nil:
			if tag != 0 {
				m.reader.Remove(c.topic, c.id)
			}
			unknown[c.topic] = append(unknown[c.topic], s)
		case span.Tag != 0:
			spans = append(spans, span)
		}
	}
	if len(spans) > 0 {
		m.reader.Add(spans...)
	}
	m.reads.Unlock()
	for topic, seekers := range unknown {
		m.helpers.Go(func() { m.seek(topic, seekers) })
	}
}

// read begins to read a partition at an offset that its broker has named, unless it has been begun otherwise since it had
// the tag. It reports whether it does.
func (m *Member) read(c *claim, tag, offset int64) bool {
	m.reads.Lock()
	defer m.reads.Unlock()
	span, _ := m.place(c, tag, offset, true)
	if span.Tag == 0 {
		return false
	}
	m.reader.Add(span)
	return true
}

// place, with reads locked, moves a partition to an offset, unless it has been moved otherwise since it had the tag. What
// is to be read then has a tag. Where it is not known what an offset means that no broker has named, somebody has to find
// out.
func (m *Member) place(c *claim, tag, offset int64, named bool) (span client.Span, unknown seeker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.span.Tag != tag || c.closing || c.gone {
		return client.Span{}, seeker{}
	}
	m.tags++
	c.span.Start, c.span.Tag, c.done = offset, m.tags, false
	c.position(offset)
	switch {
	case c.blank:
		c.done = true
		m.broadcast()
	case !named && (offset == registry.NoOffset || m.ends != nil && offset > c.span.End): // another member may have come further
		return client.Span{}, seeker{c, c.span.Tag, offset}
	default:
		return c.span, seeker{}
	}
	return client.Span{}, seeker{}
}

// resume goes on reading where it has ended for an error.
func (m *Member) resume(c *claim, tag int64) {
	m.reads.Lock()
	defer m.reads.Unlock()
	m.mu.Lock()
	live := c.live(tag)
	if live {
		c.span.Start = c.handed
	}
	span := c.span
	m.mu.Unlock()
	if live {
		m.reader.Add(span)
	}
}

// trouble deals with the end of reading a partition.
func (m *Member) trouble(c *claim, tag int64, err error) error {
	out := new(client.OutOfRangeError)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &out) && out.Start <= out.End:
		m.restart(c, tag, out)
		return nil
	case !m.o.Follow && !errors.Is(err, client.ErrUnknownTopic):
		return err
	}
	m.mu.Lock()
	tell := !c.told
	c.told = true
	m.mu.Unlock()
	if tell {
		m.tell(Event{Kind: Trouble, Topic: c.topic, Partition: c.id, Err: err})
	}
	m.helpers.Go(func() { // a broker that has just started may not know the topic yet
		if sleep(m.ctx, m.o.Retry) {
			m.resume(c, tag)
		}
	})
	return nil
}

// restart goes on at the beginning or the end of what a partition has.
func (m *Member) restart(c *claim, tag int64, out *client.OutOfRangeError) {
	to := out.Start
	if m.o.Latest {
		to = out.End
	}
	m.tell(Event{Kind: OutOfRange, Topic: c.topic, Partition: c.id, Offset: to, Err: out})
	m.read(c, tag, to)
}

// seeker is a partition that is to be begun where only its broker knows: there is no offset, or one behind its end.
type seeker struct {
	*claim
	tag    int64
	offset int64
}

// seek asks the brokers, until each partition is begun or not to be read any more. A broker that does not answer holds up
// no partition of another.
func (m *Member) seek(topic string, seekers []seeker) {
	for pause := m.o.Debounce; len(seekers) > 0; pause = min(2*pause, m.o.Retry) {
		if found, err := m.o.Source.Topic(m.ctx, topic, false); err == nil {
			m.ask(found, seekers)
		}
		var rest []seeker
		m.mu.Lock()
		for _, s := range seekers {
			if s.live(s.tag) && !s.done {
				rest = append(rest, s)
			}
		}
		m.mu.Unlock()
		if seekers = rest; len(seekers) > 0 && !sleep(m.ctx, pause) {
			return
		}
	}
}

// question is what one broker is asked at once.
type question struct {
	leader int32
	at     int64
}

// ask asks each broker for its partitions, and begins those for which there is an answer.
func (m *Member) ask(topic client.Topic, seekers []seeker) {
	asked := map[question][]seeker{}
	for _, s := range seekers {
		if int(s.id) >= len(topic.Partitions) || topic.Partitions[s.id].Leader < 0 {
			continue
		}
		q := question{topic.Partitions[s.id].Leader, client.AtStart}
		if s.offset != registry.NoOffset || m.o.Latest && !s.added {
			q.at = client.AtEnd
		}
		asked[q] = append(asked[q], s)
	}
	var wg sync.WaitGroup
	for q, seekers := range asked {
		wg.Go(func() { m.answer(topic.Name, q.at, seekers) })
	}
	wg.Wait()
}

func (m *Member) answer(topic string, at int64, seekers []seeker) {
	ids := make([]int32, len(seekers))
	for i, s := range seekers {
		ids[i] = s.id
	}
	found, err := m.o.Source.Offsets(m.ctx, topic, ids, at)
	if err != nil {
		return // and again
	}
	for _, s := range seekers {
		switch end := found[s.id]; {
		case s.offset == registry.NoOffset:
			if m.read(s.claim, s.tag, end) {
				m.tell(Event{Kind: Begun, Topic: topic, Partition: s.id, Offset: end})
			}
		case s.offset <= end:
			m.finish(s)
		default:
			first, err := m.o.Source.Offsets(m.ctx, topic, []int32{s.id}, client.AtStart)
			if err == nil {
				m.restart(s.claim, s.tag, &client.OutOfRangeError{Topic: topic, Partition: s.id, Offset: s.offset, Start: first[s.id], End: end})
			}
		}
	}
}

// finish notes that there is nothing to be read.
func (m *Member) finish(s seeker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.live(s.tag) {
		s.done = true
		m.broadcast()
	}
}
