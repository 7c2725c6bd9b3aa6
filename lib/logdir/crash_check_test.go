package logdir

import (
	"io"
	"slices"
	"strings"

	"logkit/lib/commitlog"
	"logkit/lib/record"
)

// check compares what has been told with what is there, and takes note of what a crash has taken.
func (w *world) check() {
	w.t.Helper()
	if cluster, id := w.dir.ClusterID(), w.dir.BrokerID(); w.joined && (cluster != clusterID || id != brokerID) {
		w.t.Errorf("broker %d of cluster %s, it was %d of %s", id, cluster, brokerID, clusterID)
	}
	if id := w.dir.Incarnation(); id != w.incarnation {
		w.t.Errorf("incarnation %s, it was %s", id, w.incarnation)
	}
	for _, topic := range w.dir.Topics() {
		for _, number := range topic.Partitions {
			if _, ok := w.dir.Log(topic.Name, number); !ok {
				w.t.Errorf("topic %s has partitions %d, and no log of number %d", topic.Name, topic.Partitions, number)
			}
		}
	}
	for _, p := range w.dir.Partitions() {
		if known := w.topics[p.Topic]; known != nil && !known.deleted && p.Number < known.partitions && p.TopicID != topicID {
			w.t.Errorf("%s-%d: topic id %q, want %q", p.Topic, p.Number, p.TopicID, topicID)
		}
	}
	for name, known := range w.topics {
		topic, ok := w.dir.Topic(name)
		if ok == known.deleted || len(topic.Partitions) < int(known.partitions) && !known.deleted {
			w.t.Errorf("topic %s: there %v, partitions %d; deleted was %v, %d", name, ok, topic.Partitions, known.deleted, known.partitions)
		}
		if got := w.dir.Settings(name)["retention.ms"]; got != known.setting && !known.deleted {
			w.t.Errorf("topic %s: retention %q, want %q", name, got, known.setting)
		}
		for number, log := range known.logs {
			if !known.deleted {
				w.checkLog(name, number, log)
			}
		}
	}
}

func (w *world) checkLog(topic string, number int32, known *records) {
	w.t.Helper()
	log, ok := w.dir.Log(topic, number)
	if !ok {
		w.t.Errorf("%s-%d is missing", topic, number)
		return
	}
	p := log.Positions()
	if p.Start != known.start && p.Start != known.wanted {
		w.t.Errorf("%s-%d: start %d, want %d or %d", topic, number, p.Start, known.start, known.wanted)
	}
	if p.HighWatermark < known.high {
		w.t.Errorf("%s-%d: high watermark %d, it was %d", topic, number, p.HighWatermark, known.high)
	}
	known.start = max(known.start, p.Start)
	known.high = p.HighWatermark
	// A crash takes what was not visible, from some batch on.
	known.list = slices.DeleteFunc(known.list, func(r stored) bool { return r.id >= p.HighWatermark })
	want := slices.DeleteFunc(slices.Clone(known.list), func(r stored) bool { return r.id < p.Start })
	if got := w.read(log); !slices.Equal(got, want) {
		w.t.Errorf("%s-%d: %d records are there, %d were: %v", topic, number, len(got), len(want), got)
	}
}

// read returns all records from the start of a log.
func (w *world) read(log *commitlog.Log) (list []stored) {
	w.t.Helper()
	p := log.Positions()
	var it record.Iterator
	for id := p.Start; id < p.HighWatermark; {
		s, err := log.Read(id, 1)
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Handle == nil {
			w.t.Fatalf("nothing at %d, below the high watermark %d", id, p.HighWatermark)
		}
		data := make([]byte, s.Len)
		if _, err := s.Handle.ReadAt(data, s.Pos); err != nil && err != io.EOF {
			w.t.Fatal(err)
		}
		s.Release()
		if err := it.Reset(data); err != nil {
			w.t.Fatal(err)
		}
		for r := (record.Record{}); it.Next(&r); id = r.Offset + 1 {
			if r.Offset >= p.Start {
				list = append(list, stored{r.Offset, strings.Clone(string(r.Value))})
			}
		}
	}
	return list
}
