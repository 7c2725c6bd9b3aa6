package crashfs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
)

// faults are what can go wrong. The lock of the FS guards them.
type faults struct {
	hooks       []func(Call) error
	changes     int // calls that can change what a crash leaves
	stopAt      int // the one that the process dies in; 0: none
	crashed     bool
	dead        chan struct{} // closed when crashed
	capacity    int64         // bytes; 0: no limit
	descriptors int           // 0: no limit
}

// ErrCrashed is what every call gets, on the file system and on what was opened in it, after it has crashed.
var ErrCrashed = errors.New("file system has crashed")

// errDying is for the one call that a process dies in.
var errDying = fmt.Errorf("%w in this call", ErrCrashed)

// enter is where a call begins: it is counted and the hooks are asked.
func (f *FS) enter(c Call) error {
	hooks, err := f.count(c)
	for i := 0; err == nil && i < len(hooks); i++ {
		err = hooks[i](c)
	}
	return err
}

func (f *FS) count(c Call) (hooks []func(Call) error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil {
		return nil, err
	}
	if c.Op.changes() {
		f.changes++
		if f.changes == f.stopAt {
			f.die()
			return nil, errDying
		}
	}
	return f.hooks, nil
}

// alive is nil, or ErrCrashed. The lock is held.
func (f *FS) alive() error {
	if f.crashed {
		return ErrCrashed
	}
	return nil
}

// die makes every call fail from here on. The lock is held.
func (f *FS) die() {
	if !f.crashed {
		f.crashed = true
		close(f.dead)
	}
}

// Changes is how many calls there have been that can change what a crash leaves, failed ones included.
func (f *FS) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// StopAt makes the process die in the n-th call that can change what a crash leaves, counted from 1 for the next one.
// That call and all later ones get ErrCrashed and do nothing, except that a write may be done in part. Crash then tells
// what is left. Counting with Changes what a run does, and stopping another at each of the numbers, crashes it between
// any two of its calls. StopAt(0) takes an earlier one back.
func (f *FS) StopAt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopAt = f.changes + n
}

// Before has hook called before every call, in the order of the hooks, without any lock: it may wait, crash the file
// system, or make calls of its own, which it sees too. An error from it is what the call returns.
func (f *FS) Before(hook func(Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = append(f.hooks[:len(f.hooks):len(f.hooks)], hook)
}

// Fail makes the n-th call of a kind on a path with that suffix return err, counted from 1 for the next one.
func (f *FS) Fail(op Op, suffix string, n int, err error) {
	var seen atomic.Int64
	f.Before(func(c Call) error {
		if c.is(op, suffix) && seen.Add(1) == int64(n) {
			return err
		}
		return nil
	})
}

// Hold makes the calls of a kind on a path with that suffix wait until release is called, or the file system crashes.
// Each is sent to begun when it begins to wait, as long as there is room for a thousand. Hold does not change what a
// Sync covers: what was written before it.
func (f *FS) Hold(op Op, suffix string) (begun <-chan Call, release func()) {
	calls, released := make(chan Call, 1000), make(chan struct{})
	f.Before(func(c Call) error {
		if !c.is(op, suffix) {
			return nil
		}
		select {
		case <-released:
			return nil
		case calls <- c:
		default:
		}
		select {
		case <-released:
			return nil
		case <-f.dead:
			return ErrCrashed
		}
	})
	return calls, sync.OnceFunc(func() { close(released) })
}

// SetCapacity sets how many bytes all files may have together; 0 sets no limit. What is more gets ENOSPC.
func (f *FS) SetCapacity(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = bytes
}

// Used is how many bytes all files have together, those that are deleted but open included.
func (f *FS) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used()
}

func (f *FS) used() (bytes int64) {
	for n := range f.inodes() {
		bytes += int64(len(n.data))
	}
	return bytes
}

// inodes are all that a process can reach. The lock is held.
func (f *FS) inodes() map[*inode]bool {
	all := map[*inode]bool{}
	walk(f.root, func(n *inode) { all[n] = true })
	for h := range f.open {
		all[h.node] = true
	}
	return all
}

// room is how many bytes there are left. The lock is held.
func (f *FS) room() int64 {
	if f.capacity == 0 {
		return maxFileSize
	}
	return max(0, f.capacity-f.used())
}

// SetDescriptors sets how many files and locks may be open at a time; 0 sets no limit. What is more gets EMFILE, as do
// ReadDir and SyncDir when there is no room for one more.
func (f *FS) SetDescriptors(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.descriptors = n
}

// Descriptors is how many files and locks are open: none after a crash.
func (f *FS) Descriptors() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return 0
	}
	return len(f.open)
}

// descriptor is nil when there is room for one more. The lock is held.
func (f *FS) descriptor() error {
	if f.descriptors > 0 && len(f.open) >= f.descriptors {
		return syscall.EMFILE
	}
	return nil
}
