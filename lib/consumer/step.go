package consumer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"logkit/lib/assign"
	"logkit/lib/client"
	"logkit/lib/registry"
)

func comparePartitions(a, b partition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id))
}

// step reads what there is, and goes from what the member has towards what it shall have.
func (t *term) step() error {
	if err := t.heed(); err != nil {
		return err
	}
	topics, err := t.readTopics()
	if err != nil {
		return err
	}
	target, err := t.target(topics)
	if err != nil {
		return err
	}
	for _, c := range t.owned() {
		if _, keep := target[c.partition]; !keep {
			t.close(c)
		}
	}
	if err := t.release(t.work); err != nil {
		return err
	}
	if t.audit {
		if err := t.disown(t.work); err != nil {
			return err
		}
		t.audit = false
	}
	err = t.claim(target)
	t.settle(target)
	return err
}

// heed takes notice of resets, and of another arbiter.
func (t *term) heed() error {
	m := t.m
	a, found, err := m.group.Arbiter(t.work, t.watcher)
	if err != nil {
		return err
	}
	if !found || a != t.arbiter {
		return registry.ErrTerm
	}
	mark, err := m.group.WatchReset(t.work, t.watcher)
	if err != nil {
		return err
	}
	if mark != m.reset {
		if err := t.recheck(t.owned()); err != nil {
			return err
		}
		m.reset = mark
	}
	return nil
}

// readTopics returns the topics that there are, of those that the member reads.
func (t *term) readTopics() (map[string]registry.Topic, error) {
	m := t.m
	topics := map[string]registry.Topic{}
	for _, name := range m.o.Topics {
		topic, found, err := m.o.Session.WatchTopic(t.work, name, t.watcher)
		if err != nil {
			return nil, err
		}
		found = found && !topic.Deleting
		before, seen := m.topics[name]
		switch {
		case seen && (!found || topic.ID != before.ID):
			t.forget(name)
			delete(m.topics, name)
			if !m.o.Wait {
				return nil, &TopicError{Topic: name, Again: found}
			}
		case !found && !m.o.Wait:
			return nil, &client.UnknownTopicError{Topic: name}
		}
		if !found {
			continue
		}
		first := len(topic.Replicas)
		if _, seen = m.topics[name]; seen {
			first = before.first
		}
		m.topics[name] = known{topic, first}
		topics[name] = topic
	}
	return topics, nil
}

// forget drops the claims of a topic that was deleted: there is nothing left to commit to.
func (t *term) forget(topic string) {
	for _, c := range t.owned() {
		if c.topic == topic {
			t.drop(c, &TopicError{Topic: topic})
			t.audit = true
		}
	}
}

// target is what the member shall have.
func (t *term) target(topics map[string]registry.Topic) (map[partition]registry.Topic, error) {
	m := t.m
	members, err := t.roster.Refresh(t.work)
	if err != nil {
		return nil, err
	}
	if members, err = t.allies(members); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(members, func(other registry.Member) bool { return other.ID == m.o.Member }) {
		if t.lease.Err() != nil {
			return nil, t.lease.Err()
		}
		return nil, ErrEvicted
	}
	target := map[partition]registry.Topic{}
	for name, topic := range topics {
		var owners map[int32]string
		if m.o.Strategy == assign.Sticky {
			if owners, err = t.owners(name); err != nil {
				return nil, err
			}
		}
		ids := make([]int32, len(topic.Replicas))
		for p := range ids {
			ids[p] = int32(p)
		}
		for _, p := range m.o.Strategy.Assign(subscribers(members, name), ids, owners)[m.o.Member] {
			target[partition{name, p}] = topic
		}
	}
	return target, nil
}

func subscribers(members []registry.Member, topic string) (names []string) {
	for _, m := range members {
		if m.Pattern == registry.Static && m.Subscription[topic] > 0 {
			names = append(names, m.ID)
		}
	}
	return names
}

// owners says which member owns a partition.
func (t *term) owners(topic string) (map[int32]string, error) {
	owners, err := t.m.group.Owners(t.work, topic)
	for p, thread := range owners {
		if owners[p], _ = registry.ThreadMember(thread); owners[p] == "" {
			delete(owners, p)
		}
	}
	return owners, err
}

// close begins the end of a claim: nothing more of it is delivered but what is being written.
func (t *term) close(c *claim) {
	m := t.m
	m.reads.Lock()
	m.mu.Lock()
	was := c.closing
	c.closing, m.settled = true, false
	m.broadcast()
	m.mu.Unlock()
	m.reader.Remove(c.topic, c.id)
	m.reads.Unlock()
	if was {
		return
	}
	time.AfterFunc(m.o.Drain, func() {
		m.mu.Lock()
		c.overdue = true
		m.mu.Unlock()
		m.poke()
	})
}

// release gives up the claims that are closing and need not be kept.
func (t *term) release(ctx context.Context) error {
	m := t.m
	var ready []*claim
	var marks []int64
	m.mu.Lock()
	for _, c := range m.claims {
		if c.closing && c.drained() {
			c.gone = true // a write that comes back later marks nothing
			ready, marks = append(ready, c), append(marks, c.mark)
		}
	}
	m.mu.Unlock()
	return each(len(ready), func(i int) error {
		c := ready[i]
		err := m.group.Release(ctx, t.lease, c.owned, marks[i])
		if err != nil && !errors.Is(err, registry.ErrNotOwner) {
			return err
		}
		m.mu.Lock()
		delete(m.claims, c.partition)
		m.mu.Unlock()
		if err != nil {
			m.tell(Event{Kind: Lost, Topic: c.topic, Partition: c.id, Offset: marks[i], Err: err})
		} else {
			m.tell(Event{Kind: Released, Topic: c.topic, Partition: c.id, Offset: marks[i]})
		}
		return nil
	})
}

// finish goes on with claims that are closing. Others may wait for them, and so may the member itself.
func (t *term) finish() error {
	before := len(t.owned())
	err := t.release(t.work)
	if err == nil && len(t.owned()) < before {
		t.schedule(0)
	}
	return err
}

// disown releases what this session owns and the member does not know of.
func (t *term) disown(ctx context.Context) error {
	for _, name := range t.m.o.Topics {
		err := t.m.group.Audit(ctx, t.lease, name, func(id int32) bool {
			t.m.mu.Lock()
			defer t.m.mu.Unlock()
			return t.m.claims[partition{name, id}] != nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// claim takes what is in the target and nobody's. What is somebody else's yet, the watcher tells the end of.
func (t *term) claim(target map[partition]registry.Topic) error {
	m := t.m
	var missing []partition
	m.mu.Lock()
	for p := range target {
		if m.claims[p] == nil {
			missing = append(missing, p)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(missing, comparePartitions)
	claims := make([]*claim, len(missing))
	err := each(len(missing), func(i int) error {
		p := missing[i]
		owned, err := m.group.Claim(t.work, t.lease, t.arbiter, target[p], p.id, registry.Thread(m.o.Member, 0), t.watcher)
		switch {
		case err == nil:
			c := &claim{partition: p, owned: owned, added: int(p.id) >= m.topics[p.topic].first}
			if owned.Offset == registry.NoOffset && m.o.Latest && !c.added { // it may have been added while nobody looked
				if c.added, err = m.group.Added(t.work, target[p], p.id); err != nil {
					return err
				}
			}
			claims[i] = c
			return nil
		case errors.As(err, new(*registry.OwnedError)):
			return nil
		}
		return err
	})
	t.audit = t.audit || err != nil
	claims = slices.DeleteFunc(claims, func(c *claim) bool { return c == nil })
	for _, c := range claims {
		m.open(c)
	}
	m.begin(claims, func(i int) int64 { return claims[i].owned.Offset })
	return err
}

// settle notes whether the member has what it shall have.
func (t *term) settle(target map[partition]registry.Topic) {
	m := t.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = len(m.claims) == len(target)
	for p, c := range m.claims {
		if _, wanted := target[p]; !wanted || c.closing {
			m.settled = false
		}
	}
	m.broadcast()
}

// commit writes what was delivered since the last time.
func (t *term) commit() error {
	m := t.m
	var commits []*registry.Commit
	var claims []*claim
	m.mu.Lock()
	for _, c := range m.claims {
		if !c.gone && c.mark != c.owned.Offset {
			claims = append(claims, c)
			commits = append(commits, &registry.Commit{Owned: c.owned, Offset: c.mark})
		}
	}
	m.mu.Unlock()
	if len(commits) == 0 {
		return nil
	}
	err := m.group.Commit(t.work, t.lease, t.arbiter, commits)
	for i, c := range claims {
		if one := t.outcome(c, commits[i].Err); err == nil {
			err = one
		}
	}
	return err
}
