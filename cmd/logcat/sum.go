package main

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
)

// sum is the CRC-32C of the first bytes of a file.
type sum struct {
	At  int64  `json:"position"` // how many
	CRC uint32 `json:"crc32c"`
}

// What was sent of a file is compared by reading it again: all of it up to some 1 GiB, which the operating system has in
// memory or a disk reads in seconds; of a longer one 512 MiB at the beginning and as many in front of the
// position, so that a run does not cost more with every day that a file grows.
const (
	sumStep   = 64 << 20
	sumsFirst = 8  // steps to the end of the first stretch
	sumsKept  = 10 // the end of the first stretch, and the latest ones
)

// addSum notes a sum, if it is a step behind the last one, and drops what is not needed any more. The slice is not changed.
func addSum(sums []sum, at sum, step int64) []sum {
	next := sumsFirst * step
	if len(sums) > 0 {
		next = sums[len(sums)-1].At + step
	}
	if at.At < next {
		return sums
	}
	sums = append(slices.Clone(sums), at)
	if len(sums) > sumsKept {
		sums = slices.Delete(sums, 1, 2)
	}
	return sums
}

// stretch is a part of a file between two known sums.
type stretch struct{ from, to sum }

// stretches are the parts of a regular file to compare, in their order.
func (p *place) stretches() []stretch {
	end := sum{p.Position, p.CRC}
	parts := []stretch{{sum{}, end}}
	if len(p.Sums) == sumsKept {
		parts = []stretch{{sum{}, p.Sums[0]}, {p.Sums[1], end}}
	}
	if p.Unfinished > 0 {
		parts = append(parts, stretch{end, sum{p.Position + p.Unfinished, p.UnfinishedCRC}})
	}
	return parts
}

// holds reports whether a file has the bytes that a place says were sent. It ends with the cause of ctx.
func (p *place) holds(ctx context.Context, file io.ReaderAt) (bool, error) {
	for _, s := range p.stretches() {
		r := &running{at: s.from.At, crc: s.from.CRC}
		err := r.read(ctx, file, s.to.At, func() {})
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if r.crc != s.to.CRC {
			return false, nil
		}
	}
	return true, nil
}

// running is the sum of what has been read of a file or a stream, from its beginning.
type running struct {
	at    int64
	crc   uint32
	block []byte // what has been read behind at
	watch int64  // where the sum is to be kept in saw, in passing
	saw   uint32
}

// feed takes what was read next. It is the caller's again after drain.
func (r *running) feed(block []byte) { r.block = block }

// upTo moves to a position inside what was read, and returns the sum there.
func (r *running) upTo(at int64) uint32 {
	if r.at < r.watch && r.watch <= at {
		r.move(r.watch)
		r.saw = r.crc
	}
	r.move(at)
	return r.crc
}

func (r *running) move(at int64) {
	n := at - r.at
	r.crc = crc32.Update(r.crc, castagnoli, r.block[:n])
	r.at, r.block = at, r.block[n:]
}

// drain moves to the end of what was read.
func (r *running) drain() {
	r.upTo(r.at + int64(len(r.block)))
	r.block = nil
}

// read moves to a position of a file, in steps, after each of which it calls moved. io.ErrUnexpectedEOF: the file is
// shorter.
func (r *running) read(ctx context.Context, file io.ReaderAt, to int64, moved func()) error {
	buf := make([]byte, min(blockSize, max(0, to-r.at)))
	for r.at < to {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := file.ReadAt(buf[:min(int64(len(buf)), to-r.at)], r.at)
		if n == 0 && errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return plain(err)
		}
		r.feed(buf[:n])
		r.drain()
		moved()
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
