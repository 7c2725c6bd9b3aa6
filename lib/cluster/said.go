package cluster

import (
	"context"
	"log/slog"
	"maps"
)

// said is what has been reported of a topic: at the look at it that is going on, or went on last, and at the one before.
// What is still so at the next look is not reported again; what is not is forgotten, so that it is, should it come back.
type said struct{ now, before map[string]bool }

// look begins a look at a topic. There is one at a time.
func (m *Member) look(topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.said[topic]; s != nil {
		s.now, s.before = make(map[string]bool), s.now
	}
}

// looked ends a look, which was whole or not.
func (m *Member) looked(topic string, whole bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.said[topic]
	switch {
	case s == nil:
		return
	case !whole:
		maps.Copy(s.now, s.before)
	}
	if s.before = nil; len(s.now) == 0 {
		delete(m.said, topic)
	}
}

// once reports something about a topic, that the key stands for, unless it has been reported.
func (m *Member) once(level slog.Level, topic, key, message string, args ...any) {
	m.mu.Lock()
	s := m.said[topic]
	if s == nil {
		s = &said{now: make(map[string]bool)}
		m.said[topic] = s
	}
	again := s.now[key] || s.before[key]
	s.now[key] = true
	m.mu.Unlock()
	if !again {
		m.logger.Log(context.Background(), level, message, args...)
	}
}
