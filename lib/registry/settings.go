package registry

import (
	"bytes"
	"context"
	"fmt"
)

// Settings reads what has been set for a topic. It is empty, not nil, when nothing has.
func (s *Session) Settings(ctx context.Context, topic string) (map[string]string, error) {
	data, _, _, err := s.find(ctx, configOf(topic))
	if err != nil {
		return nil, err
	}
	settings, err := decodeSettings(data)
	return settings, at(configOf(topic), err)
}

// ChangeSettings lets edit change, in place, what has been set for a topic; no other change comes in between. edit may
// be called more than once, each time with what is set then; its error ends the change. Names and values are not checked
// here.
func (s *Session) ChangeSettings(ctx context.Context, topic string, edit func(settings map[string]string) error) error {
	err := s.change(ctx, topic, func(ctx context.Context) ([]any, error) {
		t, found, err := s.Topic(ctx, topic)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, ErrNoTopic
		case t.Deleting:
			return nil, ErrTopicDeleted
		}
		settings, err := s.Settings(ctx, topic)
		if err != nil {
			return nil, err
		}
		before := encodeSettings(settings)
		if err := edit(settings); err != nil {
			return nil, err
		}
		if bytes.Equal(before, encodeSettings(settings)) {
			return nil, errDone
		}
		op, err := s.planSettings(ctx, topic, settings)
		return []any{op}, err
	})
	if err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	return nil
}

// planSettings writes the settings of a topic. Kafka's tools leave them behind when they delete one.
func (s *Session) planSettings(ctx context.Context, topic string, settings map[string]string) (any, error) {
	found, err := s.exists(ctx, configOf(topic))
	if err != nil {
		return nil, err
	}
	if found {
		return s.opSet(configOf(topic), encodeSettings(settings), anyVersion), nil
	}
	return s.opCreate(configOf(topic), encodeSettings(settings), 0), nil
}
