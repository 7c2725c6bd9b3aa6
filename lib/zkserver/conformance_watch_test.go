package zkserver

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// watchRequest is the read that sets a watch.
func watchRequest(op int32, path string) (int32, enc) { return op, enc{}.str(path).bool(true) }

// TestWatches says which events a change causes for somebody else, and for the one who made it: there before the reply.
// Paths are relative to the test's directory, which holds n with a child c, and e.
func TestWatches(t *testing.T) {
	type watch struct {
		op   int32
		path string
	}
	type change struct {
		op   int32
		body func(dir string) enc
	}
	create := func(path string) change {
		return change{opCreate, func(dir string) enc { return createBody(dir+path, nil, 0) }}
	}
	remove := func(path string) change {
		return change{opDelete, func(dir string) enc { return enc{}.str(dir + path).int(-1) }}
	}
	set := func(path string) change {
		return change{opSetData, func(dir string) enc { return enc{}.str(dir + path).buf([]byte("x")).int(-1) }}
	}
	both(t, func(t *testing.T, target target) {
		for _, row := range []struct {
			name    string
			watches []watch
			changes []change
			want    []wireEvent
		}{
			{"data, changed", []watch{{opGetData, "/n"}}, []change{set("/n")}, []wireEvent{{3, "/n"}}},
			{"data, changed twice", []watch{{opGetData, "/n"}}, []change{set("/n"), set("/n")}, []wireEvent{{3, "/n"}}},
			{"data set twice, changed", []watch{{opGetData, "/n"}, {opGetData, "/n"}}, []change{set("/n")}, []wireEvent{{3, "/n"}}},
			{"data, deleted", []watch{{opGetData, "/e"}}, []change{remove("/e")}, []wireEvent{{2, "/e"}}},
			{"data, child created", []watch{{opGetData, "/n"}}, []change{create("/n/x")}, nil},
			{"exists, changed", []watch{{opExists, "/n"}}, []change{set("/n")}, []wireEvent{{3, "/n"}}},
			{"exists, deleted", []watch{{opExists, "/e"}}, []change{remove("/e")}, []wireEvent{{2, "/e"}}},
			{"missing, created", []watch{{opExists, "/x"}}, []change{create("/x")}, []wireEvent{{1, "/x"}}},
			{"missing, below missing, created", []watch{{opExists, "/x/y"}}, []change{create("/x"), create("/x/y")}, []wireEvent{{1, "/x/y"}}},
			{"missing data sets none", []watch{{opGetData, "/x"}}, []change{create("/x")}, nil},
			{"missing children set none", []watch{{opGetChildren, "/x"}}, []change{create("/x"), create("/x/y")}, nil},
			{"children, created", []watch{{opGetChildren, "/n"}}, []change{create("/n/x")}, []wireEvent{{4, "/n"}}},
			{"children2, created", []watch{{opGetChildren2, "/n"}}, []change{create("/n/x")}, []wireEvent{{4, "/n"}}},
			{"children, deleted", []watch{{opGetChildren, "/n"}}, []change{remove("/n/c")}, []wireEvent{{4, "/n"}}},
			{"children, child changed", []watch{{opGetChildren, "/n"}}, []change{set("/n/c")}, nil},
			{"children, itself deleted", []watch{{opGetChildren, "/e"}}, []change{remove("/e")}, []wireEvent{{2, "/e"}}},
			{"children, itself changed", []watch{{opGetChildren, "/n"}}, []change{set("/n")}, nil},
			{"data and children, deleted: one event", []watch{{opGetData, "/e"}, {opGetChildren, "/e"}}, []change{remove("/e")}, []wireEvent{{2, "/e"}}},
			{"node and parent", []watch{{opGetData, "/n/c"}, {opGetChildren, "/n"}}, []change{remove("/n/c")}, []wireEvent{{2, "/n/c"}, {4, "/n"}}},
			{"created, and parent", []watch{{opGetChildren, ""}, {opExists, "/x"}}, []change{create("/x")}, []wireEvent{{1, "/x"}, {4, ""}}},
			{"failed change", []watch{{opGetData, "/n"}}, []change{remove("/n")}, nil},
			{"several changes", []watch{{opGetData, "/n"}, {opGetData, "/e"}, {opGetChildren, "/n"}},
				[]change{set("/e"), create("/n/x"), set("/n")}, []wireEvent{{3, "/e"}, {4, "/n"}, {3, "/n"}}},
		} {
			t.Run(row.name, func(t *testing.T) {
				writer, other := newRaw(t, target.addr), newRaw(t, target.addr)
				dir := area(t, writer)
				writer.create(t, dir+"/n", nil, 0)
				writer.create(t, dir+"/n/c", nil, 0)
				writer.create(t, dir+"/e", nil, 0)
				for _, w := range row.watches {
					for _, r := range []*raw{writer, other} {
						op, body := watchRequest(w.op, dir+w.path)
						r.call(t, op, body)
					}
				}
				var own []wireEvent
				for _, c := range row.changes {
					own = append(own, writer.call(t, c.op, c.body(dir)).Events...)
				}
				var want []wireEvent
				for _, ev := range row.want {
					want = append(want, wireEvent{ev.Kind, dir + ev.Path})
				}
				if diff := cmp.Diff(want, own); diff != "" {
					t.Error("the writer's own, before its replies:", diff)
				}
				if diff := cmp.Diff(want, other.settle(t)); diff != "" {
					t.Error("another's:", diff)
				}
				if late := writer.settle(t); len(late) > 0 {
					t.Error("behind the reply:", late)
				}
			})
		}
	})
}

// Watches end with their connection; setWatches brings them back, and tells at once what has happened meanwhile.
func TestSetWatches(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r, other := newRaw(t, target.addr), newRaw(t, target.addr)
		dir := area(t, r)
		for _, name := range []string{"/same", "/changed", "/deleted", "/kids", "/newkids", "/gonekids"} {
			r.create(t, dir+name, nil, 0)
		}
		since := r.lastZxid
		other.must(t, opSetData, enc{}.str(dir+"/changed").buf(nil).int(-1))
		other.must(t, opDelete, enc{}.str(dir+"/deleted").int(-1))
		other.must(t, opDelete, enc{}.str(dir+"/gonekids").int(-1))
		other.create(t, dir+"/newkids/k", nil, 0)
		other.create(t, dir+"/created", nil, 0)
		next, err := r.resume(target.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer next.nc.Close()
		body := enc{}.long(since).
			strs(dir+"/same", dir+"/changed", dir+"/deleted").
			strs(dir+"/created", dir+"/missing").
			strs(dir+"/kids", dir+"/newkids", dir+"/gonekids")
		// The C and Java clients use a fixed xid for it, and expect it back.
		next.xid = -8 - 1
		reply := next.call(t, opSetWatches, body)
		next.xid = 100
		want := []wireEvent{{3, dir + "/changed"}, {2, dir + "/deleted"}, {1, dir + "/created"}, {4, dir + "/newkids"}, {2, dir + "/gonekids"}}
		if diff := cmp.Diff(want, reply.Events); diff != "" || reply.Err != 0 || len(reply.Body) != 0 {
			t.Error(reply.Err, reply.Body, diff)
		}
		other.must(t, opSetData, enc{}.str(dir+"/same").buf(nil).int(-1))
		other.create(t, dir+"/missing", nil, 0)
		other.create(t, dir+"/kids/k", nil, 0)
		other.must(t, opSetData, enc{}.str(dir+"/changed").buf(nil).int(-1)) // not watched any more
		want = []wireEvent{{3, dir + "/same"}, {1, dir + "/missing"}, {4, dir + "/kids"}}
		if diff := cmp.Diff(want, next.settle(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPersistentWatches(t *testing.T) {
	const persistent, recursive = 0, 1
	changes := func(t *testing.T, r *raw, dir string) {
		r.must(t, opSetData, enc{}.str(dir).buf(nil).int(-1))
		r.create(t, dir+"/a", nil, 0)
		r.create(t, dir+"/a/b", nil, 0)
		r.must(t, opSetData, enc{}.str(dir+"/a/b").buf(nil).int(-1))
		r.must(t, opDelete, enc{}.str(dir+"/a/b").int(-1))
		r.must(t, opSetData, enc{}.str(dir).buf(nil).int(-1))
	}
	both(t, func(t *testing.T, target target) {
		for mode, events := range map[int32][]wireEvent{
			persistent: {{3, ""}, {4, ""}, {3, ""}},
			recursive:  {{3, ""}, {1, "/a"}, {1, "/a/b"}, {3, "/a/b"}, {2, "/a/b"}, {3, ""}},
		} {
			t.Run(fmt.Sprint("mode ", mode), func(t *testing.T) {
				r, other := newRaw(t, target.addr), newRaw(t, target.addr)
				dir := area(t, r)
				if d := r.must(t, opAddWatch, enc{}.str(dir).int(mode)); d.int() != 0 || len(d.b) != 0 {
					t.Error("reply of addWatch")
				}
				r.must(t, opCheckWatches, enc{}.str(dir).int(3))
				changes(t, other, dir)
				want := make([]wireEvent, len(events))
				for i, ev := range events {
					want[i] = wireEvent{ev.Kind, dir + ev.Path}
				}
				if diff := cmp.Diff(want, r.settle(t)); diff != "" {
					t.Error(diff)
				}
				r.must(t, opRemoveWatches, enc{}.str(dir).int(3))
				if reply := r.call(t, opRemoveWatches, enc{}.str(dir).int(3)); reply.Err != -121 {
					t.Errorf("removed twice: error %d", reply.Err)
				}
				other.must(t, opSetData, enc{}.str(dir).buf(nil).int(-1))
				if events := r.settle(t); len(events) > 0 {
					t.Error("after removal:", events)
				}
			})
			t.Run(fmt.Sprint("mode ", mode, " restored"), func(t *testing.T) {
				r := newRaw(t, target.addr)
				dir := area(t, r)
				lists := [][]string{{dir}, {}}
				if mode == recursive {
					lists = [][]string{{}, {dir}}
				}
				r.must(t, opSetWatches2, enc{}.long(r.lastZxid).strs().strs().strs().strs(lists[0]...).strs(lists[1]...))
				for range 2 {
					if events := r.call(t, opSetData, enc{}.str(dir).buf(nil).int(-1)).Events; !slices.Equal(events, []wireEvent{{3, dir}}) {
						t.Error(events)
					}
				}
			})
		}
	})
}

func TestRemoveWatches(t *testing.T) {
	const children, data, any = 1, 2, 3
	both(t, func(t *testing.T, target target) {
		for _, row := range []struct {
			name   string
			op     int32
			remove int32
			err    int32
		}{
			{"data as data", opGetData, data, 0},
			{"data as children", opGetData, children, -121},
			{"data as any", opGetData, any, 0},
			{"children as children", opGetChildren, children, 0},
			{"children as data", opGetChildren, data, -121},
			{"children as any", opGetChildren, any, 0},
		} {
			t.Run(row.name, func(t *testing.T) {
				r := newRaw(t, target.addr)
				dir := area(t, r)
				op, body := watchRequest(row.op, dir)
				r.must(t, op, body)
				if reply := r.call(t, opRemoveWatches, enc{}.str(dir).int(row.remove)); reply.Err != row.err {
					t.Errorf("error %d, want %d", reply.Err, row.err)
				}
				events := r.call(t, opCreate, createBody(dir+"/x", nil, 0)).Events
				events = append(events, r.call(t, opSetData, enc{}.str(dir).buf(nil).int(-1)).Events...)
				if (len(events) == 0) != (row.err == 0) {
					t.Error(events)
				}
			})
		}
	})
}
