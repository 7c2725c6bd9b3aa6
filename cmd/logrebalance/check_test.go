package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/client"
	"logkit/lib/record"
	"logkit/lib/registry"
)

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name    string
		logs    [][2]int64
		offsets []int64
		member  bool // owns what the letters say
		owns    []int32
		flags   string
		code    int
		line    string
	}{
		{"all read", [][2]int64{{0, 100}}, []int64{100}, true, []int32{0}, "-w 10 -c 20", 0,
			"OK: group g: 0 bytes behind in 1 partition|lag=0B;10;20;0 members=1 partitions=1 never=0 ahead=0 unknown=0"},
		// Burrow#38, #123: no traffic, or nobody there, and all is read.
		{"idle", [][2]int64{{0, 100}, {0, 0}}, []int64{100, 0}, false, nil, "-w 10 -c 20", 0,
			"OK: group g: 0 bytes behind in 2 partitions, idle without members|lag=0B;10;20;0 members=0 partitions=2 never=0 ahead=0 unknown=0"},
		{"at the threshold", [][2]int64{{0, 100}}, []int64{90}, true, []int32{0}, "-w 10 -c 20", 0,
			"OK: group g: 10 bytes behind in 1 partition|lag=10B;10;20;0 members=1 partitions=1 never=0 ahead=0 unknown=0"},
		{"behind", [][2]int64{{0, 100}, {0, 5}}, []int64{90, 4}, true, []int32{0, 1}, "-w 10 -c 20", 1,
			"WARNING: group g: 11 bytes behind in 2 partitions (warning above 10)|lag=11B;10;20;0 members=1 partitions=2 never=0 ahead=0 unknown=0"},
		{"behind in one", [][2]int64{{0, 100}, {0, 5}, {7, 7}}, []int64{90, 5, 7}, true, []int32{0, 1, 2}, "-w 9", 1,
			"WARNING: group g: 10 bytes behind in 1 of 3 partitions (warning above 9)|lag=10B;9;;0 members=1 partitions=3 never=0 ahead=0 unknown=0"},
		{"far behind", [][2]int64{{0, 10000}}, []int64{90}, true, []int32{0}, "-w 1k -c 2KiB", 2,
			"CRITICAL: group g: 9910 bytes behind in 1 partition (critical above 2KiB)|lag=9910B;1024;2048;0 members=1 partitions=1 never=0 ahead=0 unknown=0"},
		{"critical alone", [][2]int64{{0, 100}}, []int64{90}, true, []int32{0}, "-c 9", 2,
			"CRITICAL: group g: 10 bytes behind in 1 partition (critical above 9)|lag=10B;;9;0 members=1 partitions=1 never=0 ahead=0 unknown=0"},
		{"never committed", [][2]int64{{40, 100}}, []int64{-1}, true, []int32{0}, "-c 100", 0,
			"OK: group g: 60 bytes behind in 1 partition, 1 partition never committed, counted from the start of the log|lag=60B;;100;0 members=1 partitions=1 never=1 ahead=0 unknown=0"},
		{"stopped", [][2]int64{{0, 100}}, []int64{99}, false, nil, "-w 10", 1,
			"WARNING: group g: 1 byte behind in 1 partition, stopped: no members|lag=1B;10;;0 members=0 partitions=1 never=0 ahead=0 unknown=0"},
		{"between two runs", [][2]int64{{0, 100}}, []int64{99}, false, nil, "-w 10 --batch", 0,
			"OK: group g: 1 byte behind in 1 partition, no members|lag=1B;10;;0 members=0 partitions=1 never=0 ahead=0 unknown=0"},
		// prometheus-kafka-consumer-group-exporter#21: never a negative lag.
		{"ahead", [][2]int64{{0, 10}}, []int64{120}, true, []int32{0}, "-w 10", 2,
			"CRITICAL: group g: 0 bytes behind in 1 partition, 1 partition ahead of the end of the log|lag=0B;10;;0 members=1 partitions=1 never=0 ahead=1 unknown=0"},
		{"ahead, and nobody there", [][2]int64{{0, 10}}, []int64{120}, false, nil, "-w 10", 2,
			"CRITICAL: group g: 0 bytes behind in 1 partition, 1 partition ahead of the end of the log|lag=0B;10;;0 members=0 partitions=1 never=0 ahead=1 unknown=0"},
		{"expired", [][2]int64{{50, 100}}, []int64{10}, true, []int32{0}, "-w 1m", 1,
			"WARNING: group g: 50 bytes behind in 1 partition, 1 partition with records deleted unread|lag=50B;1048576;;0 members=1 partitions=1 never=0 ahead=0 unknown=0"},
		{"no owner", [][2]int64{{0, 100}, {0, 100}}, []int64{100, 100}, true, []int32{1}, "", 1,
			"WARNING: group g: 0 bytes behind in 2 partitions, 1 partition without a live owner|lag=0B;;;0 members=1 partitions=2 never=0 ahead=0 unknown=0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := onTwin(t)
			topic := c.topic("t", test.logs...)
			offsets := map[int32]int64{}
			for p, offset := range test.offsets {
				offsets[int32(p)] = offset
			}
			c.commit("g", topic, offsets)
			if test.member {
				m := c.join("g", "m", wants("t"))
				for _, p := range test.owns {
					m.claim(topic, p)
				}
			}
			c.run(append([]string{"check", "g"}, strings.Fields(test.flags)...)...).want(t, test.code, test.line+"\n", "")
		})
	}
}

// The lag grows while nobody reads (Burrow#287).
func TestCheckSeesTheLagGrow(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 90})
	for _, test := range []struct {
		end  int64
		code int
	}{{90, 0}, {95, 1}, {101, 1}, {200, 2}} {
		c.logs.logs["t"][0][1] = test.end
		if r := c.run("check", "g", "-w", "10", "-c", "100"); r.code != test.code || !strings.Contains(r.out, "|lag="+itoa(max(0, test.end-90))+"B;") {
			t.Errorf("%v\nwant status %d", r, test.code)
		}
	}
}

// One line on standard output, and nothing else anywhere, also when there is nothing to check.
func TestCheckUnknown(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.run("check", "a\nb|c").want(t, 3, "UNKNOWN: group \"a\\nb/c\": no such group\n", "")
	c.commit("g", topic, map[int32]int64{0: 90})
	c.logs.dead = map[string]bool{"t-0": true}
	c.run("check", "g").want(t, 3, "UNKNOWN: group g: at least 0 bytes behind in 1 partition, lag of 1 partition not known: no leader|"+
		"lag=U;;;0 members=0 partitions=1 never=0 ahead=0 unknown=1\n", "")
	c.logs.away = &client.UnavailableError{Addr: "127.0.0.1:1", Err: context.DeadlineExceeded}
	c.run("check", "g").want(t, 3, "UNKNOWN: broker 127.0.0.1:1: context deadline exceeded\n", "")
	c.run("check", "g", "--json", "--records").want(t, 3, `{"group":"g","status":"UNKNOWN","reason":"broker 127.0.0.1:1: context deadline exceeded",`+
		`"lag":null,"unit":"records","members":null,"partitions":null,"never":null,"ahead":null,"unknown":null}`+"\n", "")
	c.run("check", "h", "--json").want(t, 3, `{"group":"h","status":"UNKNOWN","reason":"group \"h\": no such group",`+
		`"lag":null,"unit":"bytes","members":null,"partitions":null,"never":null,"ahead":null,"unknown":null}`+"\n", "")
	if r := c.run("check", "g", "-v", "-q"); r.code != 64 || r.out != "" || !strings.Contains(r.err, "--verbose and --quiet exclude each other") {
		t.Error(r)
	}
	r := c.run("check", "g", "-w", "2k", "-c", "1k")
	if r.code != 64 || r.out != "" || !strings.Contains(r.err, "--warning 2KiB is above --critical 1KiB") {
		t.Error(r)
	}
	if r := c.run("check"); r.code != 64 || r.out != "" {
		t.Error(r)
	}
	must(t, c.group("g").Delete(c.ctx()))
	_, err := c.group("g").Lead(c.ctx(), registry.RegistryGroup, -1)
	must(t, err)
	c.logs.away = nil
	c.run("check", "g", "--json").want(t, 0, `{"group":"g","status":"OK","reason":null,"lag":0,"unit":"bytes","members":0,"partitions":0,"never":0,"ahead":0,"unknown":0}`+"\n", "")
	c.run("check", "g").want(t, 0, "OK: group g: no topics|lag=0B;;;0 members=0 partitions=0 never=0 ahead=0 unknown=0\n", "")
}

// The lag of partitions without a leader nobody knows. What the others are behind is critical all the same, and else the
// status is unknown, whatever there is to warn of.
func TestCheckWithPartitionsUnknown(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100}, [2]int64{0, 100}, [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 70, 1: 60, 2: 100})
	c.logs.dead = map[string]bool{"t-1": true}
	const after = " members=0 partitions=3 never=0 ahead=0 unknown=1\n"
	c.run("check", "g", "-w", "10", "-c", "29").want(t, 2, "CRITICAL: group g: at least 30 bytes behind in 1 of 3 partitions (critical above 29), "+
		"lag of 1 partition not known: no leader, stopped: no members|lag=U;10;29;0"+after, "")
	c.run("check", "g", "-w", "10", "-c", "30").want(t, 3, "UNKNOWN: group g: at least 30 bytes behind in 1 of 3 partitions (warning above 10), "+
		"lag of 1 partition not known: no leader, stopped: no members|lag=U;10;30;0"+after, "")
	c.run("check", "g", "-c", "30", "--batch", "--json").want(t, 3, `{"group":"g","status":"UNKNOWN",`+
		`"reason":"at least 30 bytes behind in 1 of 3 partitions, lag of 1 partition not known: no leader, no members",`+
		`"lag":30,"unit":"bytes","members":0,"partitions":3,"never":0,"ahead":0,"unknown":1}`+"\n", "")
	r := c.run("status", "g")
	if r.code != 0 || !strings.Contains(r.out, " >=30\n") {
		t.Errorf("%v\nwant a lag of >=30", r)
	}
	c.logs.dead = map[string]bool{"t-0": true, "t-1": true, "t-2": true}
	if r := c.run("status", "g"); !strings.Contains(r.out, "      0    -\n") || strings.Contains(r.out, ">=") {
		t.Error(r)
	}
}

// Records are counted by their ids, within the part that is behind.
func TestRecordsInABatch(t *testing.T) {
	b := record.NewBuilder(record.None)
	for range 10 {
		b.Append(record.Record{Value: []byte("v")})
	}
	batch, err := b.Finish(nil)
	must(t, err)
	record.SetBaseOffset(batch, 1000)
	var it record.Iterator
	var got []int64
	for _, span := range [][2]int64{{0, 5000}, {1000, 1010}, {1003, 1007}, {1009, 1010}, {1010, 2000}, {0, 1000}} {
		n, err := recordsIn(&it, batch, span[0], span[1])
		must(t, err)
		got = append(got, n)
	}
	if diff := cmp.Diff([]int64{10, 10, 4, 1, 0, 0}, got); diff != "" {
		t.Error(diff)
	}
}
