package main

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// blockSize is how much is read at once: several pipes full, and small enough to stay in a processor's cache.
const blockSize = 256 << 10

// block is a piece of the input, or the end of one of its files.
type block struct {
	data  []byte
	at    int64 // when it was read, Unix milliseconds
	input int   // which of the files
	file  string
	end   bool  // the file ends here
	err   error // why, if it did not end by itself
}

// input reads files one after the other. It reads ahead by two blocks at most.
type input struct {
	blocks chan block  // closed behind the last file
	free   chan []byte // blocks that were used
}

// Stdin as a FILE, and as it is called in messages.
const (
	standardInput = "-"
	stdinName     = "standard input"
)

// open begins to read the files, or stdin when there are none; from says where, when it is not nil. The goroutine that
// reads may be stuck in a read for ever: it ends at the end of the input, or with the process.
func open(files []string, stdin io.Reader, from []place) *input {
	in := &input{blocks: make(chan block), free: make(chan []byte, 3)}
	for range cap(in.free) {
		in.free <- make([]byte, blockSize)
	}
	if len(files) == 0 {
		files = []string{standardInput}
	}
	go func() {
		defer close(in.blocks)
		for i, name := range files {
			if from == nil {
				in.read(i, name, stdin, nil)
			} else {
				in.read(i, name, stdin, &from[i])
			}
		}
	}()
	return in
}

func (in *input) read(i int, name string, stdin io.Reader, at *place) {
	from := stdin
	if name != standardInput {
		f, err := openAt(name, at)
		if err != nil {
			in.blocks <- block{input: i, file: name, end: true, err: plain(err)}
			return
		}
		defer f.Close()
		from = f
	}
	for {
		buf := <-in.free
		n, err := from.Read(buf)
		b := block{data: buf[:n], at: time.Now().UnixMilli(), input: i, file: shownName(name), end: err != nil}
		if err != nil && !errors.Is(err, io.EOF) {
			b.err = plain(err)
		}
		in.blocks <- b
		if b.end {
			return
		}
	}
}

// openAt opens a file where it is to go on.
func openAt(name string, at *place) (*os.File, error) {
	if at != nil && at.missing {
		return nil, syscall.ENOENT
	}
	f, err := os.Open(name)
	if err != nil || at == nil {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		if device, inode := identity(info); device != at.Device || inode != at.Inode || at.Born != 0 && born(name) != at.Born {
			err = errors.New("it was replaced since this run began: run it again")
		} else {
			_, err = f.Seek(at.Position, io.SeekStart)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// done gives a block's buffer back.
func (in *input) done(b block) {
	if b.data != nil {
		in.free <- b.data[:cap(b.data)]
	}
}

// shownName is how messages call a file.
func shownName(file string) string {
	if file == standardInput {
		return stdinName
	}
	return file
}

// plain leaves out of an error what the caller says anyway.
func plain(err error) error {
	if pe := new(os.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
