package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// pauses grow from one attempt to the next, and are spread so that those who collided do not collide again.
type pauses struct {
	s    *Session
	next time.Duration
}

func (s *Session) pauses() *pauses { return &pauses{s, s.options.Backoff} }

// wait pauses; it returns an error when there is no use in another attempt.
func (p *pauses) wait(ctx context.Context) error {
	timer := time.NewTimer(p.next/2 + rand.N(p.next))
	defer timer.Stop()
	p.next = min(2*p.next, 20*p.s.options.Backoff)
	select {
	case <-timer.C:
		return nil
	case <-p.s.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read makes a call that changes nothing, again until it is answered.
func (s *Session) read(ctx context.Context, path string, call func(path string) error) error {
	p := s.pauses()
	for {
		err := call(s.root + path)
		if err == nil || !again(err) {
			return at(path, err)
		}
		if stop := p.wait(ctx); stop != nil {
			return fmt.Errorf("%s: %w (%v)", path, stop, err)
		}
	}
}

func (s *Session) get(ctx context.Context, path string) (data []byte, stat *zk.Stat, err error) {
	err = s.read(ctx, path, func(path string) (err error) {
		data, stat, err = s.conn.Get(path)
		return err
	})
	return data, stat, err
}

// find is get, with found false rather than an error for a node that is not there.
func (s *Session) find(ctx context.Context, path string) (data []byte, stat *zk.Stat, found bool, err error) {
	data, stat, err = s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, false, nil
	}
	return data, stat, err == nil, err
}

func (s *Session) exists(ctx context.Context, path string) (found bool, err error) {
	err = s.read(ctx, path, func(path string) (err error) {
		found, _, err = s.conn.Exists(path)
		return err
	})
	return found, err
}

// children returns no names for a node that is not there.
func (s *Session) children(ctx context.Context, path string) (names []string, stat *zk.Stat, err error) {
	err = s.read(ctx, path, func(path string) (err error) {
		names, stat, err = s.conn.Children(path)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, &zk.Stat{}, nil
	}
	return names, stat, err
}

// settle waits until the server is there again and has passed on all that was written before, also by connections that
// are lost. After it, reading shows what became of a write.
func (s *Session) settle(ctx context.Context) error {
	return s.read(ctx, "/", func(string) error {
		_, err := s.conn.Sync("/")
		return err
	})
}

// multi carries out all operations or none. bad is the operation that it failed for, -1 when that is not known. It is
// not made again by itself: see lost.
func (s *Session) multi(ops []any) (responses []zk.MultiResponse, bad int, err error) {
	if size := opsSize(ops); size > maxMulti {
		return nil, -1, fmt.Errorf("%d operations of %d bytes, allowed are %d: %w", len(ops), size, maxMulti, ErrTooLarge)
	}
	responses, err = s.conn.Multi(ops...)
	if err == nil {
		return responses, -1, nil
	}
	bad = culprit(responses)
	if bad >= 0 && bad < len(ops) {
		return responses, bad, at(opPath(ops[bad])[len(s.root):], err)
	}
	return responses, -1, err
}

func opPath(op any) string {
	switch op := op.(type) {
	case *zk.CreateRequest:
		return op.Path
	case *zk.SetDataRequest:
		return op.Path
	case *zk.DeleteRequest:
		return op.Path
	case *zk.CheckVersionRequest:
		return op.Path
	}
	return ""
}

// plant creates a persistent node unless it is there.
func (s *Session) plant(ctx context.Context, path string, data []byte) error {
	return s.read(ctx, path, func(path string) error {
		if data == nil {
			data = []byte{}
		}
		_, err := s.conn.Create(path, data, 0, openACL)
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// each calls f for all numbers below n, some at a time, and returns the first error.
func (s *Session) each(n int, f func(i int) error) error { return Each(n, s.options.Parallel, f) }

// Each calls f for all numbers below n, at most so many at a time, and returns the first error, once all calls have ended:
// after one nothing new is begun.
func Each(n, atOnce int, f func(i int) error) error {
	if atOnce == 1 || n <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  int
		first error
	)
	for range min(n, atOnce) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := first != nil || i >= n
				mu.Unlock()
				if stop {
					return
				}
				if err := f(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
