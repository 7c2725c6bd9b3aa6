package interop

import "context"

func (p *Python) Topics(ctx context.Context, brokers string) (topics map[string]int, err error) {
	err = p.call(ctx, request{"op": "topics", "brokers": brokers}, &topics)
	return topics, err
}

func (p *Python) Create(ctx context.Context, brokers, topic string, partitions int, settings map[string]string) error {
	return p.call(ctx, request{
		"op": "create", "brokers": brokers, "topic": topic, "partitions": partitions, "settings": settings,
	}, nil)
}

func (p *Python) Grow(ctx context.Context, brokers, topic string, partitions int) error {
	return p.call(ctx, request{"op": "grow", "brokers": brokers, "topic": topic, "partitions": partitions}, nil)
}

func (p *Python) Delete(ctx context.Context, brokers, topic string) error {
	return p.call(ctx, request{"op": "delete", "brokers": brokers, "topic": topic}, nil)
}

func (p *Python) Settings(ctx context.Context, brokers, topic string) (settings map[string]string, err error) {
	err = p.call(ctx, request{"op": "settings", "brokers": brokers, "topic": topic}, &settings)
	return settings, err
}

func (p *Python) Replace(ctx context.Context, brokers, topic string, settings map[string]string) error {
	return p.call(ctx, request{"op": "replace", "brokers": brokers, "topic": topic, "settings": settings}, nil)
}

func (*Python) Adjust(context.Context, string, string, string, string, string) error {
	return ErrCannot
}

func (*Python) DeleteRecords(context.Context, string, string, int32, int64) error { return ErrCannot }
