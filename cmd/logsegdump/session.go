package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"logkit/lib/cli"
	"logkit/lib/inspect"
	"logkit/lib/vfs"
)

// session is one run of the tool.
type session struct {
	ctx context.Context
	o   *options
	env *cli.Env
	out *bufio.Writer
	in  inspect.Inspector

	mode     mode
	sieve    inspect.Sieve       // in front of a mode that is sifted
	dir      string              // whose log goes through the sieve; "" for a file that was named by itself
	streamed []byte              // the beginning of the stream that is read, up to magicBytes
	beyond   int                 // batches in a row that lie behind the range of ids
	verdicts int                 // damage that was found
	damaged  map[string]struct{} // files it was in
}

// mode is what is made of what an Inspector finds. Files that are aside of the log (leftovers, snapshots) and not named
// by the user come to a mode only when it wants them.
type mode interface {
	aside() bool
	sifted() bool // it is given only what a Sieve lets through
	begin(f *inspect.File) error
	batch(f *inspect.File, b *inspect.Batch) error
	verdict(f *inspect.File, v *inspect.Verdict) error
	end(f *inspect.File) error
	close() error
}

// plain is a mode that does nothing.
type plain struct{}

func (plain) aside() bool                                   { return false }
func (plain) sifted() bool                                  { return false }
func (plain) begin(*inspect.File) error                     { return nil }
func (plain) batch(*inspect.File, *inspect.Batch) error     { return nil }
func (plain) verdict(*inspect.File, *inspect.Verdict) error { return nil }
func (plain) end(*inspect.File) error                       { return nil }
func (plain) close() error                                  { return nil }

// outputBytes is how much is collected before it is written, if nothing has to be waited for.
const outputBytes = 64 << 10

func newSession(ctx context.Context, o *options, env *cli.Env) *session {
	s := &session{ctx: ctx, o: o, env: env, out: bufio.NewWriterSize(env.Stdout, outputBytes), damaged: make(map[string]struct{})}
	s.in = inspect.Inspector{
		FS: readFS{vfs.OS, ctx},
		Options: inspect.Options{
			MaxBatch: int64(o.maxBatch), MaxDecompressed: int64(o.maxDecompressed), Deep: o.check && o.records,
		},
		Visitor: inspect.Visitor{Begin: s.begin, Batch: s.batch, Verdict: s.verdict, End: s.end, Progress: s.progress},
	}
	s.sieve.Keep = s.passed
	switch {
	case o.check:
		s.mode = &check{s: s}
	case o.values:
		s.mode = newValues(s)
	case o.records || o.hex:
		s.mode = &records{s: s}
	case o.summary || o.histogram:
		s.mode = &summary{s: s}
	case o.salvage != "":
		s.mode = newSalvage(s)
	default:
		s.mode = &list{s: s}
	}
	return s
}

func (s *session) run(paths []string) error {
	if s.o.repair {
		return s.finish(s.repair(paths))
	}
	var errs []error
	for _, path := range paths {
		err := s.path(path)
		switch {
		case errors.Is(err, inspect.ErrNotSegment):
			errs = append(errs, cli.WithHint(cli.WithCode(cli.ExitUsage, err), hintFor(s.beginning(path))))
		case s.ctx.Err() != nil || errors.Is(err, cli.ErrStdoutClosed):
			return errors.Join(err, context.Cause(s.ctx))
		case err != nil:
			errs = append(errs, err)
		}
	}
	return s.finish(append(errs, s.sift(s.sieve.Flush), s.mode.close()))
}

// finish writes what is left to write, and makes of what was found an exit status.
func (s *session) finish(errs []error) error {
	s.env.Progress("")
	if err := s.out.Flush(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	if s.verdicts > 0 {
		text := fmt.Sprintf("damage found: %s in %s", plural(s.verdicts, "verdict"), plural(len(s.damaged), "file"))
		errs = append(errs, cli.Damaged(errors.New(text)))
	}
	return errors.Join(errs...)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "ch") {
		one += "e"
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// decompressors are the programs that print what begins so.
var decompressors = []struct{ magic, program string }{
	{"\x1f\x8b", "zcat"}, {"\x28\xb5\x2f\xfd", "zstdcat"}, {"\xfd7zXZ\x00", "xzcat"}, {"BZh", "bzcat"}, {"\x04\x22\x4d\x18", "lz4cat"},
}

// magicBytes is how many bytes of a file are looked at for the sake of a hint.
const magicBytes = 8

// hintFor is a next step for somebody who has given something that is no segment, and begins so.
func hintFor(beginning []byte) string {
	for _, d := range decompressors {
		if bytes.HasPrefix(beginning, []byte(d.magic)) {
			return fmt.Sprintf("it looks compressed: decompress it to standard input, %s FILE | logsegdump -", d.program)
		}
	}
	return "a segment is named like 00000000000000000042.log"
}

// beginning returns the first bytes of a file or of the stream that was read last. It is only for a hint: an error is no news.
func (s *session) beginning(path string) []byte {
	if info, err := os.Stat(path); path == "-" || err != nil || !info.Mode().IsRegular() {
		return s.streamed
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, magicBytes)
	n, _ := io.ReadFull(f, b)
	return b[:n]
}

func (s *session) path(path string) error {
	if path == "-" {
		return s.stream("-", s.env.Stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() { // a pipe, as the shell's <(COMMAND) gives
		f, err := cli.OpenInput(s.ctx, path)
		if err != nil {
			return err
		}
		defer f.Close()
		return s.stream(path, f)
	}
	s.in.Entry = nil
	if !info.IsDir() && s.shows() {
		s.in.Entry = s.entry
	}
	return s.in.Path(path)
}

func (s *session) stream(name string, r io.Reader) error {
	s.streamed = nil
	return s.in.Stream(name, &input{s: s, chunks: readAhead(s.ctx, r)})
}

// shows tells whether the entries of a file that is no log are printed.
func (s *session) shows() bool {
	_, isList := s.mode.(*list)
	return isList
}

func (s *session) hidden(f *inspect.File) bool { return f.Aside() && !s.mode.aside() }

func (s *session) begin(f *inspect.File) error {
	if s.hidden(f) {
		return inspect.ErrSkip
	}
	s.beyond = 0
	dir := ""
	if f.InDir {
		dir = filepath.Dir(f.Path)
	}
	if dir == "" || dir != s.dir {
		s.dir = dir
		if err := s.sift(s.sieve.Reset); err != nil {
			return err
		}
	}
	return s.mode.begin(f)
}

// sift has the sieve give away what it holds: that the rest of its file is not wanted says nothing about another one.
func (s *session) sift(what func() error) error {
	if err := what(); !errors.Is(err, inspect.ErrSkip) {
		return err
	}
	return nil
}

func (s *session) batch(f *inspect.File, b *inspect.Batch) error {
	if s.mode.sifted() {
		return s.sieve.Add(f, b)
	}
	// Ids rise, so behind the range there is nothing left in it, but one batch alone may have a wrong id.
	if !s.behind(b) || b.Verdict != "" {
		s.beyond = 0
	} else if s.beyond++; s.beyond > 1 {
		return inspect.ErrSkip
	}
	return s.pick(f, b)
}

// passed takes what the sieve lets through, where ids do rise.
func (s *session) passed(f *inspect.File, b *inspect.Batch) error {
	if s.behind(b) {
		return inspect.ErrSkip
	}
	return s.pick(f, b)
}

// behind tells whether a batch lies behind the range of ids.
func (s *session) behind(b *inspect.Batch) bool { return s.o.ids != everything && b.Base >= s.o.ids.to }

// pick gives the mode a batch that may have something of the ranges.
func (s *session) pick(f *inspect.File, b *inspect.Batch) error {
	switch {
	case s.o.ids != everything && !s.o.ids.overlaps(b.Base, b.Last):
		return nil
	case s.o.times.span != everything && !s.o.times.overlaps(b.Timestamp, b.MaxTimestamp):
		return nil
	}
	return s.mode.batch(f, b)
}

func (s *session) verdict(f *inspect.File, v *inspect.Verdict) error {
	if s.hidden(f) && v.Kind != inspect.Leftover {
		return nil
	}
	if !v.Kind.Damage() {
		if s.o.verbose {
			s.env.Say("%v", v)
		}
		return nil
	}
	s.verdicts++
	s.damaged[v.File] = struct{}{}
	return s.mode.verdict(f, v)
}

// tell says a verdict to a person.
func (s *session) tell(v *inspect.Verdict) {
	if !s.o.quiet {
		s.env.Say("%v", v)
	}
}

func (s *session) end(f *inspect.File) error {
	s.env.Progress("")
	if s.hidden(f) {
		return nil
	}
	return s.mode.end(f)
}

func (s *session) progress(f *inspect.File, done int64) {
	const mib = 1 << 20
	if f.Size > 0 {
		s.env.Progress("%s: %d of %d MiB", f.Path, done/mib, f.Size/mib)
	} else {
		s.env.Progress("%s: %d MiB", f.Path, done/mib)
	}
}

// readFS is a file system whose files stop being read when the run is to end.
type readFS struct {
	vfs.FS
	ctx context.Context
}

func (r readFS) OpenRead(name string) (vfs.File, error) {
	f, err := r.FS.OpenRead(name)
	if err != nil {
		return nil, err
	}
	return readFile{f, r.ctx}, nil
}

type readFile struct {
	vfs.File
	ctx context.Context
}

func (r readFile) ReadAt(b []byte, at int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.File.ReadAt(b, at)
}

// input is standard input. What has been printed is written before anything is waited for.
type input struct {
	s      *session
	chunks <-chan chunk
	left   []byte
	err    error
}

type chunk struct {
	b   []byte
	err error
}

// readAhead reads r in the background, because a read of a pipe can not be called off.
func readAhead(ctx context.Context, r io.Reader) <-chan chunk {
	chunks := make(chan chunk)
	go func() {
		defer close(chunks)
		for {
			const size = 256 << 10
			b := make([]byte, size)
			n, err := r.Read(b)
			select {
			case chunks <- chunk{b[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return chunks
}

func (i *input) Read(b []byte) (int, error) {
	for len(i.left) == 0 {
		if i.err != nil {
			return 0, i.err
		}
		if err := i.s.out.Flush(); err != nil {
			return 0, err
		}
		select {
		case c := <-i.chunks:
			i.left, i.err = c.b, c.err
		case <-i.s.ctx.Done():
			return 0, context.Cause(i.s.ctx)
		}
	}
	n := copy(b, i.left)
	if have := len(i.s.streamed); have < magicBytes {
		i.s.streamed = append(i.s.streamed, b[:min(n, magicBytes-have)]...)
	}
	i.left = i.left[n:]
	return n, nil
}
