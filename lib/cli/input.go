package cli

import (
	"context"
	"io"
	"os"
)

// OpenInput opens a file for reading. It may be a pipe: opening waits for somebody who writes, and reading for what is
// written. Both end with the cause of ctx.
func OpenInput(ctx context.Context, name string) (io.ReadCloser, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := os.Open(name)
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		if r.err != nil {
			return nil, r.err
		}
		return &input{Input(ctx, r.file), r.file}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the process, which ends, is the only one to close what is opened after all
	}
}

type input struct {
	io.Reader
	io.Closer
}

// Input reads from r until ctx ends: a read that waits, of a terminal or a pipe, returns the cause of ctx then. What it
// would have read is lost.
func Input(ctx context.Context, r io.Reader) io.Reader { return &interruptible{ctx, r} }

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	own := make([]byte, len(b)) // that a read which comes too late may still fill
	read := make(chan result, 1)
	go func() {
		n, err := i.r.Read(own)
		read <- result{n, err}
	}()
	select {
	case r := <-read:
		return copy(b, own[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}
