package registry

import (
	"sync"

	"github.com/go-zookeeper/zk"
)

// Watcher makes one signal of many watches. Which of them fired, and how often, is not told: whoever takes the signal
// reads what there is and acts on the difference, in one place, so that an event that was missed or came twice changes
// nothing. A session that ends fires all its watches.
type Watcher struct {
	dirty chan struct{} // holds one signal
	done  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup

	mu    sync.Mutex
	armed map[string]bool
}

// NewWatcher returns a watcher that has not signalled.
func NewWatcher() *Watcher {
	return &Watcher{dirty: make(chan struct{}, 1), done: make(chan struct{}), armed: map[string]bool{}}
}

// Dirty gives a value when something has changed since the last one was taken.
func (w *Watcher) Dirty() <-chan struct{} { return w.dirty }

// Signal makes the watcher dirty, as a watch that fires does.
func (w *Watcher) Signal() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// Close stops waiting for watches; it does not end those that are set. Nothing may be armed after it.
func (w *Watcher) Close() {
	w.once.Do(func() { close(w.done) })
	w.wg.Wait()
}

// arm reports whether a watch of that name has to be set. The caller sets it and hands it to await, or, when that
// failed, calls disarm. So there is never more than one.
func (w *Watcher) arm(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.armed[name] {
		return false
	}
	w.armed[name] = true
	return true
}

// quiet reports whether the watch of that name is set and has not fired: nothing has changed since it was.
func (w *Watcher) quiet(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed[name]
}

func (w *Watcher) disarm(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.armed, name)
}

func (w *Watcher) await(name string, fires <-chan zk.Event) {
	w.wg.Go(func() {
		select {
		case <-fires:
			w.disarm(name)
			w.Signal()
		case <-w.done:
		}
	})
}

// watched makes a call with a watch where there is none yet, and without one where there is.
func (w *Watcher) watched(name string, with func() (<-chan zk.Event, error), without func() error) error {
	if w == nil || !w.arm(name) { // somebody has set it already
		return without()
	}
	fires, err := with()
	if err != nil || fires == nil {
		w.disarm(name)
		return err
	}
	w.await(name, fires)
	return nil
}
