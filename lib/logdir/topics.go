package logdir

import (
	"maps"
	"slices"

	"logkit/lib/commitlog"
)

// Topic is a topic of which the directory has partitions. Other brokers may have others of it.
type Topic struct {
	Name       string
	Partitions []int32 // sorted
}

// Partition is a partition that the directory has.
type Partition struct {
	Topic   string
	Number  int32
	TopicID string // of the topic that it was made for, "" when nothing says; see Create
	Hidden  bool   // see Hide
	Err     error  // why its log could not be opened
}

// Damaged tells that the file which says what topic the partition was made for cannot be read.
func (p Partition) Damaged() bool { return p.TopicID == damagedTopicID }

// Log returns the log of a partition. ok is false when the directory does not have it, or hides it.
func (d *Dir) Log(topic string, number int32) (log *commitlog.Log, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p := partition{topic, number}
	log, ok = d.logs[p]
	if len(d.hidden) > 0 && d.hidden[p] {
		return nil, false
	}
	return log, ok
}

// all returns a copy of the map of logs.
func (d *Dir) all() map[partition]*commitlog.Log {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return maps.Clone(d.logs)
}

// isServed tells whether a partition of topics is neither hidden nor unopened. mu is held.
func (d *Dir) isServed(p partition) bool { return !d.hidden[p] && d.unopened[p] == nil }

// Topic returns a topic by its name, with those partitions that are served. ok is false when there are none.
func (d *Dir) Topic(name string) (t Topic, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.topic(name, d.isServed)
}

// topic collects the partitions of a topic for which keep holds. mu is held.
func (d *Dir) topic(name string, keep func(partition) bool) (t Topic, ok bool) {
	t.Name = name
	for number := range d.topics[name] {
		if keep(partition{name, number}) {
			t.Partitions = append(t.Partitions, number)
		}
	}
	slices.Sort(t.Partitions)
	return t, len(t.Partitions) > 0
}

// Topics returns all topics with those partitions that are served, sorted by name.
func (d *Dir) Topics() []Topic {
	d.mu.RLock()
	defer d.mu.RUnlock()
	topics := make([]Topic, 0, len(d.topics))
	for _, name := range slices.Sorted(maps.Keys(d.topics)) {
		if t, ok := d.topic(name, d.isServed); ok {
			topics = append(topics, t)
		}
	}
	return topics
}

// Partitions returns all partitions, hidden or not, sorted by topic and number.
func (d *Dir) Partitions() []Partition {
	d.mu.RLock()
	defer d.mu.RUnlock()
	list := make([]Partition, 0, len(d.logs))
	for _, name := range slices.Sorted(maps.Keys(d.topics)) {
		list = d.appendPartitions(list, name)
	}
	return list
}

// PartitionsOf returns those of one topic.
func (d *Dir) PartitionsOf(topic string) []Partition {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.appendPartitions(nil, topic)
}

func (d *Dir) appendPartitions(list []Partition, topic string) []Partition {
	for _, number := range slices.Sorted(maps.Keys(d.topics[topic])) {
		p := partition{topic, number}
		list = append(list, Partition{topic, number, d.ids[p], d.hidden[p], d.unopened[p]})
	}
	return list
}

// Hide keeps a partition from being served: Log and Topics do not know it, and nothing of it expires, until it is
// adopted. Its files stay as they are. It does not outlive Close.
func (d *Dir) Hide(topic string, number int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := (partition{topic, number}); d.topics[topic][number] {
		d.hidden[p] = true
	}
}

func (d *Dir) isHidden(p partition) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.hidden[p]
}

// add makes a log known. mu is held, or nobody else knows the directory yet.
func (d *Dir) add(p partition, log *commitlog.Log, topicID string) {
	d.logs[p], d.ids[p] = log, topicID
	if d.topics[p.topic] == nil {
		d.topics[p.topic] = make(map[int32]bool)
	}
	d.topics[p.topic][p.number] = true
}

// drop makes a log unknown. mu is held.
func (d *Dir) drop(p partition) {
	delete(d.logs, p)
	delete(d.ids, p)
	delete(d.hidden, p)
	delete(d.unopened, p)
	delete(d.topics[p.topic], p.number)
	if len(d.topics[p.topic]) == 0 {
		delete(d.topics, p.topic)
	}
}
