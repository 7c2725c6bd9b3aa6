package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

// resume is what the file of --progress holds, as a JSON object: how far each file of the input is acknowledged.
type resume struct {
	Topic     string  `json:"topic"`
	Delimiter string  `json:"delimiter"`       // with escapes; empty when each file is one message
	Inputs    []place `json:"inputs"`          // in the order of the operands
	Began     int64   `json:"began,omitempty"` // when the run that wrote it began, Unix nanoseconds; 0: not known
}

// place is how far one file of the input has come: up to its longest prefix of messages that are all acknowledged, or
// were refused and reported.
type place struct {
	Name       string `json:"name"`
	Device     uint64 `json:"device,omitempty"` // of a regular file, with its inode; 0 and 0 for a stream
	Inode      uint64 `json:"inode,omitempty"`
	Born       int64  `json:"born,omitempty"`       // when it was made, Unix nanoseconds; 0: the file system does not know
	Size       int64  `json:"size"`                 // bytes that it was seen to have
	Position   int64  `json:"position"`             // bytes of the prefix, delimiters included
	Messages   int64  `json:"messages"`             // of the prefix
	Unfinished int64  `json:"unfinished,omitempty"` // bytes behind Position that were sent too: a last message without a delimiter

	CRC           uint32 `json:"crc32c"`                      // of all bytes of the prefix
	UnfinishedCRC uint32 `json:"unfinished_crc32c,omitempty"` // of the prefix and of what is unfinished behind it
	Sums          []sum  `json:"sums,omitempty"`              // of a regular file, on the way to Position: see addSum

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
	if long := (*vfs.TooLongError)(nil); errors.As(err, &long) {
		err = fmt.Errorf("%w: %w", errForeign, long)
	}
	if errors.Is(err, errForeign) {
		return nil, refuseResume(name, err)
	}
	if err != nil {
		return nil, err
	}
	r, err := parseResume(text)
	if err != nil {
		return nil, refuseResume(name, err)
	}
	return r, nil
}

// errForeign: it is something else, which may be dear to somebody: nobody is told to remove it.
var errForeign = errors.New("not a file that --progress has written")

func refuseResume(name string, err error) error {
	err = fmt.Errorf("%s: %w", name, err)
	if errors.Is(err, errForeign) {
		return cli.WithHint(err, "give the name of a file that need not exist, and is for --progress alone: --progress FILE TOPIC INPUT")
	}
	return beginAnew(err, name)
}

// parseResume returns errForeign for what is not, or no longer, surely a resume file.
func parseResume(text []byte) (*resume, error) {
	var has map[string]json.RawMessage
	if len(text) == 0 {
		return nil, fmt.Errorf("%w: empty", errForeign)
	}
	if json.Unmarshal(text, &has) != nil || len(has) > 0 && has["inputs"] == nil {
		return nil, errForeign
	}
	r := &resume{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		if has["topic"] == nil || has["delimiter"] == nil || has["inputs"] == nil {
			return nil, errForeign
		}
		return nil, fmt.Errorf("damaged, or of another logcat: %w", err)
	}
	for i := range r.Inputs {
		if p := &r.Inputs[i]; !p.possible() {
			return nil, fmt.Errorf("damaged: numbers of %q that can not be", p.Name)
		}
	}
	return r, nil
}

// possible reports whether the numbers fit together.
func (p *place) possible() bool {
	if p.Size < 0 || p.Position < 0 || p.Messages < 0 || p.Unfinished < 0 || p.Position+p.Unfinished < p.Position {
		return false
	}
	last := int64(0)
	for _, s := range p.Sums {
		if s.At <= last || s.At > p.Position {
			return false
		}
		last = s.At
	}
	return len(p.Sums) <= sumsKept
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
