package zkserver

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// op is one part of a multi, with paths relative to the test's directory.
func (e enc) op(kind int32, body enc) enc { return e.int(kind).bool(false).int(-1).raw(body) }
func (e enc) end() enc                    { return e.int(-1).bool(true).int(-1) }

// multiResults writes the body of a reply down, one line for each result.
func multiResults(d *dec, dir string) (lines []string) {
	for {
		kind, done, err := d.int(), d.bool(), d.int()
		if done {
			if kind != -1 || err != -1 || len(d.b) != 0 {
				lines = append(lines, fmt.Sprintf("end marker %d %d, %d bytes left", kind, err, len(d.b)))
			}
			return lines
		}
		line := fmt.Sprintf("%d err %d", kind, err)
		switch kind {
		case -1:
			line += fmt.Sprintf(" code %d", d.int())
		case opCreate:
			line += " " + d.str()[len(dir):]
		case opCreate2, opCreateContainer:
			path, s := d.str(), d.stat()
			line += fmt.Sprintf(" %s version %d", path[len(dir):], s.Version)
		case opSetData:
			s := d.stat()
			line += fmt.Sprintf(" version %d length %d", s.Version, s.DataLength)
		}
		lines = append(lines, line)
	}
}

func TestMulti(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		for _, row := range []struct {
			name string
			ops  func(dir string) enc
			want []string
			left map[string]int32 // version of each node, -1 where there is none
		}{
			{"empty", func(string) enc { return enc{} }, nil, nil},
			{"all kinds", func(dir string) enc {
				return enc{}.op(opCreate, createBody(dir+"/a", []byte("1"), 0)).
					op(opSetData, enc{}.str(dir+"/a").buf([]byte("22")).int(0)).
					op(opCheck, enc{}.str(dir+"/a").int(1)).
					op(opCreate, createBody(dir+"/a/s-", nil, flagSequence)).
					op(opCreateContainer, createBody(dir+"/c", nil, modeContainer)).
					op(opDelete, enc{}.str(dir+"/n").int(0))
			}, []string{"1 err 0 /a", "5 err 0 version 1 length 2", "13 err 0", "1 err 0 /a/s-0000000000", "15 err 0 /c version 0", "2 err 0"},
				map[string]int32{"/a": 1, "/a/s-0000000000": 0, "/c": 0, "/n": -1}},
			{"create and delete", func(dir string) enc {
				return enc{}.op(opCreate, createBody(dir+"/a", nil, 0)).op(opDelete, enc{}.str(dir+"/a").int(-1))
			}, []string{"1 err 0 /a", "2 err 0"}, map[string]int32{"/a": -1}},
			{"fails in the middle", func(dir string) enc {
				return enc{}.op(opCreate, createBody(dir+"/a", nil, 0)).
					op(opSetData, enc{}.str(dir+"/n").buf(nil).int(0)).
					op(opCheck, enc{}.str(dir+"/n").int(7)).
					op(opDelete, enc{}.str(dir+"/n").int(-1)).
					op(opCreate, createBody("relative", nil, 0))
			}, []string{"-1 err 0 code 0", "-1 err 0 code 0", "-1 err -103 code -103", "-1 err -2 code -2", "-1 err -2 code -2"},
				map[string]int32{"/a": -1, "/n": 0}},
			{"fails at once", func(dir string) enc {
				return enc{}.op(opDelete, enc{}.str(dir+"/none").int(-1)).op(opDelete, enc{}.str(dir+"/n").int(-1))
			}, []string{"-1 err -101 code -101", "-1 err -2 code -2"}, map[string]int32{"/n": 0}},
			{"delete fails over a child of this multi", func(dir string) enc {
				return enc{}.op(opCreate, createBody(dir+"/n/c", nil, 0)).op(opDelete, enc{}.str(dir+"/n").int(-1))
			}, []string{"-1 err 0 code 0", "-1 err -111 code -111"}, map[string]int32{"/n": 0, "/n/c": -1}},
		} {
			t.Run(row.name, func(t *testing.T) {
				r := newRaw(t, target.addr)
				dir := area(t, r)
				r.create(t, dir+"/n", nil, 0)
				got := multiResults(r.must(t, opMulti, row.ops(dir).end()), dir)
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Error(diff)
				}
				for path, version := range row.left {
					reply := r.call(t, opExists, enc{}.str(dir+path).bool(false))
					found := int32(-1)
					if reply.Err == 0 {
						found = (&dec{reply.Body}).stat().Version
					}
					if found != version {
						t.Errorf("%s: version %d, want %d", path, found, version)
					}
				}
			})
		}
		// 3.8 answers create2 as if it had been create, without the stat (mended in later versions), so the real one is
		// not asked.
		t.Run("create2", func(t *testing.T) {
			if target.ours == nil {
				t.Skip("known to differ")
			}
			r := newRaw(t, target.addr)
			dir := area(t, r)
			got := multiResults(r.must(t, opMulti, enc{}.op(opCreate2, createBody(dir+"/a", nil, 0)).end()), dir)
			if diff := cmp.Diff([]string{"15 err 0 /a version 0"}, got); diff != "" {
				t.Error(diff)
			}
		})
		// A multi that failed has used up nothing: neither versions nor sequence numbers.
		t.Run("leaves no trace", func(t *testing.T) {
			r := newRaw(t, target.addr)
			dir := area(t, r)
			before := r.getStat(t, dir)
			r.must(t, opMulti, enc{}.op(opCreate, createBody(dir+"/s-", nil, flagSequence|flagEphemeral)).
				op(opSetData, enc{}.str(dir).buf([]byte("x")).int(-1)).
				op(opDelete, enc{}.str(dir+"/none").int(-1)).end())
			if diff := cmp.Diff(before, r.getStat(t, dir)); diff != "" {
				t.Error(diff)
			}
			if path := r.create(t, dir+"/s-", nil, flagSequence); path != dir+"/s-0000000000" {
				t.Error(path)
			}
			if own := r.must(t, opGetEphemerals, enc{}.str("/")).strs(); len(own) != 0 {
				t.Error(own)
			}
		})
		t.Run("one zxid, events in order before the reply", func(t *testing.T) {
			r := newRaw(t, target.addr)
			dir := area(t, r)
			r.create(t, dir+"/n", nil, 0)
			for _, op := range []int32{opGetData, opGetChildren} {
				r.must(t, op, enc{}.str(dir+"/n").bool(true))
			}
			r.call(t, opExists, enc{}.str(dir+"/m").bool(true))
			reply := r.call(t, opMulti, enc{}.op(opSetData, enc{}.str(dir+"/n").buf(nil).int(-1)).
				op(opCreate, createBody(dir+"/m", nil, 0)).op(opCreate, createBody(dir+"/n/c", nil, 0)).end())
			want := []wireEvent{{3, dir + "/n"}, {1, dir + "/m"}, {4, dir + "/n"}}
			if diff := cmp.Diff(want, reply.Events); diff != "" {
				t.Error(diff)
			}
			n, m := r.getStat(t, dir+"/n"), r.getStat(t, dir+"/m")
			if n.Mzxid != reply.Zxid || n.Pzxid != reply.Zxid || m.Czxid != reply.Zxid {
				t.Errorf("zxid %x: %+v %+v", reply.Zxid, n, m)
			}
		})
		t.Run("multi of reads", func(t *testing.T) {
			r := newRaw(t, target.addr)
			dir := area(t, r)
			r.create(t, dir+"/n", []byte("data"), 0)
			d := r.must(t, opMultiRead, enc{}.op(opGetData, enc{}.str(dir+"/n").bool(false)).
				op(opGetData, enc{}.str(dir+"/none").bool(false)).
				op(opGetChildren, enc{}.str(dir).bool(false)).end())
			kind, done, err := d.int(), d.bool(), d.int()
			if data := d.buf(); kind != opGetData || done || err != 0 || string(data) != "data" || d.stat().DataLength != 4 {
				t.Error("first:", kind, done, err, data)
			}
			if kind, done, err, code := d.int(), d.bool(), d.int(), d.int(); kind != -1 || done || err != -101 || code != -101 {
				t.Error("second:", kind, done, err, code)
			}
			kind, done, err = d.int(), d.bool(), d.int()
			if names := d.strs(); kind != opGetChildren || done || err != 0 || len(names) != 1 || names[0] != "n" {
				t.Error("third:", kind, done, err, names)
			}
			if kind, done, err := d.int(), d.bool(), d.int(); kind != -1 || !done || err != -1 || len(d.b) != 0 {
				t.Error("end:", kind, done, err, d.b)
			}
		})
	})
}
