package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

// resume is what the file of --progress holds, as a JSON object: how far each file of the input is acknowledged.
type resume struct {
	Topic     string  `json:"topic"`
	Delimiter string  `json:"delimiter"` // with escapes; empty when each file is one message
	Inputs    []place `json:"inputs"`    // in the order of the operands
}

// place is how far one file of the input has come: up to its longest prefix of messages that are all acknowledged, or
// were refused and reported.
type place struct {
	Name       string `json:"name"`
	Device     uint64 `json:"device,omitempty"` // of a regular file, with its inode; 0 and 0 for a stream
	Inode      uint64 `json:"inode,omitempty"`
	Size       int64  `json:"size"`                 // bytes that it was seen to have
	Position   int64  `json:"position"`             // bytes of the prefix, delimiters included
	Messages   int64  `json:"messages"`             // of the prefix
	Unfinished int64  `json:"unfinished,omitempty"` // bytes behind Position that were sent too: a last message without a delimiter
	Last       int64  `json:"last"`                 // bytes of the last message of the prefix
	CRC        uint32 `json:"crc32c"`               // of that message in a regular file, of all messages in a stream

	missing bool // it was not there when this run began
}

// maxResume bounds the file that is read, in bytes: some 100,000 names.
const maxResume = 32 << 20

func (p *place) stream() bool { return p.Inode == 0 && p.Device == 0 }

// begun reports whether anything of the file was sent.
func (p *place) begun() bool { return p.Position+p.Unfinished > 0 || p.Messages > 0 }

// done reports whether nothing of the file, as it was seen, is left to send.
func (p *place) done() bool { return p.Position+p.Unfinished >= p.Size }

// readResume reads the file; one that does not exist is an empty one.
func readResume(name string) (*resume, error) {
	text, err := vfs.ReadFile(vfs.OS, name, maxResume)
	if errors.Is(err, fs.ErrNotExist) {
		return &resume{}, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := parseResume(text)
	if err != nil {
		return nil, beginAnew(fmt.Errorf("%s: not a file of --progress: %w", name, err), name)
	}
	return r, nil
}

func parseResume(text []byte) (*resume, error) {
	r := &resume{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); errors.Is(err, io.EOF) {
		return nil, errors.New("empty")
	} else if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something behind the object")
	}
	for i := range r.Inputs {
		p := &r.Inputs[i]
		if p.Size < 0 || p.Position < 0 || p.Messages < 0 || p.Unfinished < 0 || p.Last < 0 || p.Last > p.Position || p.Position+p.Unfinished < p.Position {
			return nil, fmt.Errorf("numbers that can not be: %+v", *p)
		}
	}
	return r, nil
}

// format leaves out files that are not there: they may come as anything.
func (r resume) format() ([]byte, error) {
	r.Inputs = slices.DeleteFunc(slices.Clone(r.Inputs), func(p place) bool { return p.missing })
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// beginAnew is the hint that every refusal to go on leads to.
func beginAnew(err error, name string) error {
	return cli.WithHint(err, fmt.Sprintf("to send all of it, remove %s", name))
}

// match finds the places where to go on in the files, of which none means standard input. It compares what the resume
// file says with what is there: an error means that going on would leave something out. Only the last file is expected to
// grow: one before it that was sent to its end may be gone.
func (r *resume) match(name string, files []string, delimiter []byte) ([]place, error) {
	if len(files) == 0 {
		files = []string{standardInput}
	}
	known := slices.Clone(r.Inputs)
	taken := make([]bool, len(known))
	places := make([]place, len(files))
	for i, file := range files {
		is, err := identify(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		is.missing = err != nil
		places[i] = is
		for j := range known {
			if taken[j] || !known[j].same(&is) {
				continue
			}
			if err := known[j].check(&is, delimiter); err != nil {
				if known[j].done() && j < len(known)-1 {
					continue // the file is gone, and its inode has been used again
				}
				return nil, beginAnew(fmt.Errorf("%s: %w", file, err), name)
			}
			taken[j] = true
			places[i] = known[j]
			places[i].Name, places[i].Size = is.Name, max(is.Size, known[j].Position)
			break
		}
	}
	for j := range known {
		if !taken[j] && known[j].begun() && !(known[j].done() && j < len(known)-1) {
			return nil, known[j].gone(name, files)
		}
	}
	return places, nil
}

// same reports whether a place is in the file that is there: a regular file may have another name by now, as log files
// are renamed, and a stream is known by nothing but its name.
func (p *place) same(is *place) bool {
	if is.missing || p.Device != is.Device || p.Inode != is.Inode {
		return false
	}
	return !p.stream() || p.Name == is.Name
}

// identify returns the beginning of a file.
func identify(name string) (place, error) {
	p := place{Name: name}
	if name == standardInput {
		return p, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return p, err
	}
	if info.Mode().IsRegular() {
		p.Device, p.Inode = identity(info)
		p.Size = info.Size()
	}
	return p, nil
}

func identity(info fs.FileInfo) (device, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}

// check compares a place with the same file as it is there.
func (p *place) check(is *place, delimiter []byte) error {
	switch {
	case p.stream():
		return nil // it is compared while it is read again
	case is.Size < p.Position+p.Unfinished:
		return fmt.Errorf("it was cut to %s: the first %d were sent", cli.Counted(is.Size, "byte"), p.Position+p.Unfinished)
	case delimiter == nil && p.Messages > 0 && is.Size != p.Position:
		return fmt.Errorf("it was sent as one message of %s, and has %d", cli.Counted(p.Position, "byte"), is.Size)
	case p.Messages == 0:
		return nil
	}
	f, err := os.Open(is.Name)
	if err != nil {
		return plain(err)
	}
	defer f.Close()
	last := io.NewSectionReader(f, p.Position-p.Last-int64(len(delimiter)), p.Last+int64(len(delimiter)))
	sum := crc32.New(castagnoli)
	if _, err := io.CopyN(sum, last, p.Last); err != nil {
		return plain(err)
	}
	end, err := io.ReadAll(last)
	if err != nil {
		return plain(err)
	}
	if sum.Sum32() != p.CRC || !bytes.Equal(end, delimiter) {
		return fmt.Errorf("it was written anew: what ends at byte %d is not what was sent", p.Position)
	}
	return nil
}

// gone words that a file which may not have been sent to its end is none of those that are there.
func (p *place) gone(name string, files []string) error {
	var err error
	sent := fmt.Sprintf("%d of %s", p.Position+p.Unfinished, cli.Counted(p.Size, "byte"))
	_, missing := os.Stat(p.Name)
	switch {
	case p.stream():
		return beginAnew(fmt.Errorf("%s: stands at %s of %s, which is not read now", name, cli.Counted(p.Messages, "message"), shownName(p.Name)), name)
	case !slices.Contains(files, p.Name):
		err = fmt.Errorf("%s: %s of %s were sent, which is not given now", name, sent, p.Name)
	case missing != nil:
		err = fmt.Errorf("%s: %w: %s were sent", p.Name, plain(missing), sent)
	default:
		err = fmt.Errorf("%s: it was replaced by another file: of the one before %s were sent", p.Name, sent)
	}
	if now := p.renamed(); now != "" {
		return cli.WithHint(err, fmt.Sprintf("that one is %s now: name it before the others, and nothing is left out", now))
	}
	return beginAnew(err, name)
}

// renamed looks for the file beside its name.
func (p *place) renamed() string {
	entries, _ := os.ReadDir(filepath.Dir(p.Name)) // only for a hint: an error is no news
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			if device, inode := identity(info); device == p.Device && inode == p.Inode {
				return filepath.Join(filepath.Dir(p.Name), e.Name())
			}
		}
	}
	return ""
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
