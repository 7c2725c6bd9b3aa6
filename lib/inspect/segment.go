package inspect

import (
	"errors"
	"fmt"
	"io"

	"logkit/lib/vfs"
)

// indexes are the indexes beside a log, each nil when there is none.
type indexes struct {
	offsets *offsetCheck
	times   *timeCheck
	files   []vfs.File
}

func (x *indexes) close() {
	for _, f := range x.files {
		f.Close()
	}
}

// log inspects one segment: its log, and its indexes against that.
func (in *Inspector) log(f *File, file vfs.File, order *Order) error {
	var said []*Verdict
	x, err := in.indexes(f, func(v *Verdict) { said = append(said, v) })
	if err != nil {
		return err
	}
	defer x.close()
	p := &pass{in: in, f: f, x: x, said: &said, grown: func() bool {
		size, err := file.Size()
		return err == nil && size > f.Size
	}}
	return in.scan(f, source(file, f.Size), order, p)
}

// indexes opens the indexes of a segment. They are opened before the log is read: one that has been written to since is
// behind, which is no damage.
func (in *Inspector) indexes(f *File, say func(*Verdict)) (*indexes, error) {
	x := new(indexes)
	if f.Format == Format07 || f.Base < 0 {
		return x, nil
	}
	for _, suffix := range []string{".index", ".timeindex"} {
		path := f.withSuffix(suffix)
		if in.only != "" && path != in.only {
			continue
		}
		side := &File{Path: path}
		file, err := in.open(side)
		if err != nil {
			if err = in.goOn(err); err != nil {
				x.close()
				return nil, err
			}
			continue
		}
		x.files = append(x.files, file)
		r, size := source(file, side.Size), side.Size
		if suffix == ".index" {
			x.offsets = newOffsetCheck(path, r, size, f.Base, say)
		} else {
			x.times = newTimeCheck(path, r, size, f.Base, say)
		}
	}
	return x, nil
}

// pass is one reading of a log, with its indexes.
type pass struct {
	in    *Inspector
	f     *File
	x     *indexes
	said  *[]*Verdict // by the indexes
	grown func() bool // whether the log is longer than when it was opened

	tail  *Verdict // on damage that may turn out to reach to the end
	short bool     // the indexes know of more than there is
}

func (p *pass) batch(b *Batch, layout Layout) {
	if p.x.offsets != nil {
		p.x.offsets.exact = layout == Positions
		p.x.offsets.batch(b)
	}
	if p.x.times != nil {
		p.x.times.exact = layout == Positions
		p.x.times.batch(b)
	}
}

func (p *pass) damage(v *Verdict) {
	if p.x.offsets != nil {
		p.x.offsets.damage(v.Position, v.End)
	}
	if p.x.times != nil {
		p.x.times.damage()
	}
}

// end is the end of the log, whose last bytes were damage if tail is there.
func (p *pass) end() error {
	grown := p.grown()
	if p.tail != nil {
		if grown {
			p.tail.Kind = Growing // it is an append that was seen half done
		}
		if err := p.in.verdict(p.f, p.tail); err != nil {
			return err
		}
	}
	if !grown {
		if err := p.endIndexes(); err != nil {
			return err
		}
	}
	return p.flush()
}

// endIndexes says, once, what points behind the end of the log.
func (p *pass) endIndexes() (err error) {
	var offsets, times behindEnd
	if x := p.x.offsets; x != nil {
		if offsets, err = x.end(); p.in.goOn(err) != nil {
			return err
		}
	}
	if x := p.x.times; x != nil {
		if times, err = x.end(p.tail != nil); p.in.goOn(err) != nil {
			return err
		}
	}
	if offsets.n+times.n == 0 {
		return nil
	}
	p.short = true
	v := &Verdict{Kind: IndexEntry, ID: NoID, Expected: fmt.Sprintf("none behind the log, which ends at %d", p.f.Size)}
	if offsets.n > 0 {
		v.File, v.Position, v.End, v.Found = p.x.offsets.file, offsets.from, offsets.to, offsets.String()
		if times.n > 0 {
			v.Found += fmt.Sprintf("; in the %s %v", TimeIndexFile, &times)
		}
	} else {
		v.File, v.Position, v.End, v.Found = p.x.times.file, times.from, times.to, times.String()
	}
	*p.said = append(*p.said, v)
	return nil
}

// flush gives away what the indexes have to say.
func (p *pass) flush() error {
	for _, v := range *p.said {
		if err := p.in.verdict(p.f, v); err != nil {
			return err
		}
	}
	*p.said = (*p.said)[:0]
	return nil
}

// progressBytes is how many bytes of a log lie between two calls of Progress.
const progressBytes = 16 << 20

// scan reads a log. p is nil for one that is no file.
func (in *Inspector) scan(f *File, r io.Reader, order *Order, p *pass) error {
	if in.Begin != nil {
		if err := in.Begin(f); err != nil {
			return skipped(err)
		}
	}
	if p == nil {
		p = &pass{in: in, f: f, x: new(indexes), said: new([]*Verdict), grown: func() bool { return false }}
	}
	s := NewScanner(r, ScanOptions{Name: f.Path, Base: f.Base, Size: f.Size, Format: f.Format,
		MaxBatch: in.MaxBatch, MaxDecompressed: in.MaxDecompressed, Deep: in.Deep, Order: order})
	err := in.items(f, s, p)
	if err == nil {
		err = p.end()
	}
	if err != nil || p.short {
		order.damaged = true // where this segment ends has not been seen, so the next one need not join
	}
	if errors.Is(err, ErrSkip) {
		err = nil
	}
	if err == nil {
		if in.End != nil {
			err = in.End(f)
		}
	}
	return skipped(err)
}

func (in *Inspector) items(f *File, s *Scanner, p *pass) error {
	told := int64(0)
	for {
		item, err := s.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if p.tail != nil { // it was not the tail
			if err := in.verdict(f, p.tail); err != nil {
				return err
			}
			p.tail = nil
		}
		if v := item.Verdict; v != nil {
			if err := p.verdict(v); err != nil {
				return err
			}
			continue
		}
		p.batch(item.Batch, s.order.Layout)
		if len(*p.said) > 0 {
			if err := p.flush(); err != nil {
				return err
			}
		}
		if in.Batch != nil {
			if err := in.Batch(f, item.Batch); err != nil {
				return err
			}
		}
		if in.Progress != nil && s.Position()-told >= progressBytes {
			told = s.Position()
			in.Progress(f, told)
		}
	}
}

// verdict takes what the scanner says: damage is kept until it is known whether something comes behind it.
func (p *pass) verdict(v *Verdict) error {
	if !v.Kind.IsRange() {
		return p.in.verdict(p.f, v)
	}
	p.damage(v)
	switch {
	case p.f.Leftover == ".cleaned" && v.Kind == TornTail: // the cleaner was at work on it
		return nil
	case p.f.Size >= 0 && v.End == p.f.Size:
		p.tail = v
		return nil
	}
	return p.in.verdict(p.f, v)
}
