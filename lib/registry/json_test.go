package registry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var moment = time.UnixMilli(1445518677618).UTC()

// TestNodesByteForByte holds what is written to the text that tools of Kafka 0.8 know.
func TestNodesByteForByte(t *testing.T) {
	for _, row := range []struct{ name, got, want string }{
		{"broker", string(Broker{ID: 7, Host: "1.2.3.4", Port: 9092, Registered: moment}.encode()),
			`{"jmx_port":-1,"timestamp":"1445518677618","host":"1.2.3.4","version":1,"port":9092}`},
		{"broker of ours", string(Broker{Host: "h", Port: 1, Registered: moment, Incarnation: "q8ZjFqYdSx6Mh1Wc0bqYxA"}.encode()),
			`{"jmx_port":-1,"timestamp":"1445518677618","host":"h","version":1,"port":1,"incarnation":"q8ZjFqYdSx6Mh1Wc0bqYxA"}`},
		{"topic", string(Topic{Replicas: [][]int32{{0}, {1}}}.encode()), `{"version":1,"partitions":{"0":[0],"1":[1]}}`},
		{"topic of ours", string(Topic{ID: "oyD8s", Replicas: [][]int32{{3, 1}}}.encode()),
			`{"version":1,"partitions":{"0":[3,1]},"topic_id":"oyD8s"}`},
		{"topic being deleted", string(Topic{ID: "oyD8s", Deleting: true, Replicas: [][]int32{{3}}}.encode()),
			`{"version":1,"partitions":{"0":[3]},"topic_id":"oyD8s","deleting":true}`},
		{"state", string(encodeState([]int32{0})), `{"controller_epoch":0,"leader":0,"version":1,"leader_epoch":0,"isr":[0]}`},
		{"settings", string(encodeSettings(map[string]string{"retention.ms": "1000"})), `{"version":1,"config":{"retention.ms":"1000"}}`},
		{"no settings", string(encodeSettings(nil)), `{"version":1,"config":{}}`},
		{"settings are not escaped for HTML", string(encodeSettings(map[string]string{"a": "<&>"})), `{"version":1,"config":{"a":"<&>"}}`},
		{"change", string(encodeChange("T")), `"T"`},
		{"member", string(Member{Subscription: map[string]int32{"T": 2}, Pattern: Static, Joined: moment}.encode()),
			`{"version":1,"subscription":{"T":2},"pattern":"static","timestamp":"1445518677618"}`},
		{"member by expression", string(Member{Subscription: map[string]int32{"T.*": 4}, Pattern: WhiteList, Joined: moment}.encode()),
			`{"version":1,"subscription":{"T.*":4},"pattern":"white_list","timestamp":"1445518677618"}`},
		{"member of another strategy", string(Member{Subscription: map[string]int32{"T": 1}, Pattern: Static, Joined: moment, Strategy: "sticky"}.encode()),
			`{"version":1,"subscription":{"T":1},"pattern":"static","timestamp":"1445518677618","strategy":"sticky"}`},
		{"member of the strategy that Kafka 0.8 has", string(Member{Subscription: map[string]int32{"T": 1}, Pattern: Static, Joined: moment, Strategy: "range"}.encode()),
			`{"version":1,"subscription":{"T":1},"pattern":"static","timestamp":"1445518677618"}`},
		{"arbiter", string(Arbiter{KafkaGroup, 3, "Vd1q", 5}.encode()), `{"version":1,"kind":"kafka","epoch":3,"nonce":"Vd1q","coordinator":5}`},
		{"metadata", string(encodeNote(1<<40, "hi")), `{"version":1,"offset":"1099511627776","metadata":"aGk="}`},
		{"assigned id", string(encode(assignedJSON{1, "q8Zj"})), `{"version":1,"incarnation":"q8Zj"}`},
		{"tombstone", string(encode(tombstoneJSON{1, "T"})), `{"version":1,"topic":"T"}`},
		{"offset", string(encodeOffset(1 << 40)), `1099511627776`},
		{"no offset", string(encodeOffset(NoOffset)), `-1`},
	} {
		if row.got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.name, row.got, row.want)
		}
	}
}

// TestNodesOfOthers reads what other versions have written, and refuses what makes no sense.
func TestNodesOfOthers(t *testing.T) {
	broker := func(data string) (any, error) { return decodeBroker(7, []byte(data)) }
	topic := func(data string) (any, error) { return decodeTopic("T", []byte(data)) }
	state := func(data string) (any, error) { return decodeState([]byte(data)) }
	settings := func(data string) (any, error) { return decodeSettings([]byte(data)) }
	member := func(data string) (any, error) { return decodeMember("c", []byte(data)) }
	arbiter := func(data string) (any, error) { return decodeArbiter([]byte(data)) }
	offset := func(data string) (any, error) { return decodeOffset([]byte(data)) }
	change := func(data string) (any, error) { return decodeChange([]byte(data)) }
	for _, row := range []struct {
		decode func(string) (any, error)
		data   string
		want   any // nil: refused
	}{
		{broker, `{ "host":"h", "jmx_port":-1, "port":9092, "timestamp":"1445518677618", "version":1 }`, // 0.8.0
			Broker{ID: 7, Host: "h", Port: 9092, Registered: moment}},
		{broker, `{"jmx_port":-1,"timestamp":"1445518677618","endpoints":["PLAINTEXT://h:9092"],"host":"h","version":2,"port":9092}`, // 0.9
			Broker{ID: 7, Host: "h", Port: 9092, Registered: moment}},
		{broker, `{"version":1,"port":9092}`, nil},
		{broker, `{"host":"h","port":0}`, nil},
		{broker, `{"host":"h","port":65536}`, nil},
		{broker, `{"host":"h","port":9092.5}`, nil},
		{broker, `h:9092`, nil}, // 0.7
		{broker, ``, nil},
		{topic, `{"partitions":{"1":[2,1], "0":[1,2]}, "version":1, "more":{}}`, Topic{Name: "T", Replicas: [][]int32{{1, 2}, {2, 1}}}},
		{topic, `{"version":1,"partitions":{}}`, nil},
		{topic, `{"version":1,"partitions":{"1":[1]}}`, nil},
		{topic, `{"version":1,"partitions":{"00":[1]}}`, nil},
		{topic, `{"version":1,"partitions":{"0":[]}}`, nil},
		{topic, `{"version":1,"partitions":{"0":[-1]}}`, Topic{Name: "T", Replicas: [][]int32{{NoBroker}}}},
		{topic, `{"version":1,"partitions":{"0":[1,-1]}}`, nil},
		{topic, `{"version":1,"partitions":{"0":[4294967296]}}`, nil},
		{topic, `{"version":1,"partitions":{"0":[1]},"topic_id":"../x"}`, nil},
		{state, `{"controller_epoch":2,"leader":-1,"version":1,"leader_epoch":0,"isr":[]}`,
			PartitionState{ControllerEpoch: 2, Leader: -1, Version: 1, ISR: []int32{}}},
		{state, `{"leader":0,"leader_epoch":0}`, nil},
		{state, `{"isr":[0],"leader_epoch":0}`, nil},
		{settings, ``, map[string]string{}},
		{settings, `{"config":{"a":"1"},"version":1}`, map[string]string{"a": "1"}},
		{settings, `{"version":1,"config":null}`, nil},
		{settings, `{"version":1,"config":{"a":1}}`, nil},
		{change, `"T"`, "T"},
		{change, `T`, nil},
		{change, `"a/b"`, nil},
		{member, `{"subscription":{"T":2},"pattern":"black_list"}`, Member{ID: "c", Subscription: map[string]int32{"T": 2}, Pattern: BlackList}},
		{member, `{"subscription":{"T":-2},"pattern":"static"}`, nil},
		{member, `{"subscription":{"T":2}}`, nil},
		{member, `{"pattern":"static"}`, nil},
		{arbiter, `{"kind":"registry","epoch":1,"nonce":"x"}`, Arbiter{RegistryGroup, 1, "x", -1}},
		{arbiter, `{"kind":"other","epoch":1,"nonce":"x"}`, nil},
		{arbiter, `{"kind":"kafka","epoch":0,"nonce":"x"}`, nil},
		{arbiter, `{"kind":"kafka","epoch":1,"nonce":"a/b"}`, nil},
		{offset, "17\n", int64(17)},
		{offset, "", int64(NoOffset)},
		{offset, "-1001", int64(NoOffset)}, // kafkajs
		{offset, "9223372036854775807", int64(1<<63 - 1)},
		{offset, "9223372036854775808", nil},
		{offset, "0x10", nil},
	} {
		got, err := row.decode(row.data)
		switch {
		case row.want == nil && err == nil:
			t.Errorf("%s: accepted as %+v", row.data, got)
		case row.want != nil && err != nil:
			t.Errorf("%s: %v", row.data, err)
		case row.want != nil && !cmp.Equal(got, row.want):
			t.Errorf("%s:\n%s", row.data, cmp.Diff(row.want, got))
		}
	}
}

func TestMetadataOfAnotherOffsetIsNotShown(t *testing.T) {
	note := encodeNote(5, "a\xff")
	if text, err := decodeNote(note, 5); err != nil || text != "a\xff" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := decodeNote(note, 6); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestEscape(t *testing.T) {
	for name, want := range map[string]string{
		"orders-2": "orders-2", "": "%", ".": "%2E", "..": "%2E.", ".a.": "%2Ea.", "a/b": "a%2Fb", "50%": "50%25", "café": "caf%C3%A9",
		"\x00\x7f\xff": "%00%7F%FF", "a b": "a b", "%": "%25",
	} {
		got := EscapeName(name)
		if got != want {
			t.Errorf("%q is escaped as %q, want %q", name, got, want)
		}
		if back, err := UnescapeName(got); err != nil || back != name {
			t.Errorf("%q comes back as %q, %v", name, back, err)
		}
	}
	// One name has one path: whatever else could stand for a name is refused.
	for _, text := range []string{"", "%2", "%2f", "%zz", "%41", ".", "a/b", "a%", "é", "%2E%2E", "a%2E"} {
		if name, err := UnescapeName(text); err == nil {
			t.Errorf("%q is taken for %q", text, name)
		}
	}
}

func TestParseConnect(t *testing.T) {
	for _, row := range []struct {
		text, chroot string
		servers      []string // nil: refused
	}{
		{"zk1:2181,zk2,zk3:2183/logkit/prod", "/logkit/prod", []string{"zk1:2181", "zk2:2181", "zk3:2183"}},
		{"127.0.0.1:2181", "", []string{"127.0.0.1:2181"}},
		{"zk/", "", []string{"zk:2181"}},
		{"", "", nil},
		{"zk,,zk", "", nil},
		{"zk//a", "", nil},
		{"zk/a/", "", nil},
		{"zk/a/../b", "", nil},
		{"zk/zookeeper", "", nil},
		{"zk:0", "", nil},
		{"zk:70000", "", nil},
		{"zk:x", "", nil},
		{"zk1/a,zk2/a", "", nil},
	} {
		servers, chroot, err := ParseConnect(row.text)
		if err == nil && (row.servers == nil || chroot != row.chroot || !cmp.Equal(servers, row.servers)) || err != nil && row.servers != nil {
			t.Errorf("%q: %q, %q, %v", row.text, servers, chroot, err)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, row := range []struct {
		name    string
		brokers []int32
		load    map[int32]int
		n       int
		want    [][]int32
	}{
		{"in turn", []int32{3, 1, 2}, nil, 5, [][]int32{{1}, {2}, {3}, {1}, {2}}},
		{"the odd ones to who has least", []int32{1, 2, 3}, map[int32]int{1: 9, 2: 4, 3: 5}, 4, [][]int32{{2}, {3}, {1}, {2}}},
		{"a broker that is empty gets its share and no more", []int32{1, 2}, map[int32]int{1: 100}, 4, [][]int32{{2}, {1}, {2}, {1}}},
		{"named twice", []int32{1, 1}, nil, 2, [][]int32{{1}, {1}}},
	} {
		got, err := Spread(row.brokers, row.load, row.n)
		if err != nil || !cmp.Equal(got, row.want) {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
	}
	if _, err := Spread(nil, nil, 1); err != ErrNoBrokers {
		t.Error(err)
	}
}

// FuzzNodes reads arbitrary bytes as each kind of node.
//
//   - nothing panics
//   - what was read, written, and read again is the same
//   - ids and names that come out are fit to be parts of paths
func FuzzNodes(f *testing.F) {
	seeds := []string{
		string(Broker{Host: "h", Port: 9092, Registered: moment, Incarnation: "q8Zj"}.encode()),
		string(Topic{ID: "oyD8s", Deleting: true, Replicas: [][]int32{{3, 1}, {2147483647}}}.encode()),
		string(encodeState([]int32{1, 2})), string(encodeSettings(map[string]string{"a": "b"})), string(encodeChange("T")),
		string(Member{Subscription: map[string]int32{"T": 2}, Pattern: Static, Joined: moment}.encode()),
		string(Arbiter{KafkaGroup, 3, "Vd1q", 5}.encode()), string(encodeNote(5, "x")), "17", "9223372036854775807",
		`{"version":1,"partitions":{"2147483648":[1]}}`, strings.Repeat("[", 20000), strings.Repeat("\x00", 64),
	}
	for _, s := range seeds {
		f.Add([]byte(s))
		f.Add([]byte(s[:len(s)/2]))
		flipped := []byte(s)
		flipped[len(flipped)/3] ^= 0x11
		f.Add(flipped)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		again := func(what string, first any, err error, encoded func() []byte, read func([]byte) (any, error)) {
			if err != nil {
				return
			}
			second, err := read(encoded())
			if err != nil || !cmp.Equal(first, second) {
				t.Errorf("%s from %q: %v, %+v comes back as %+v", what, data, err, first, second)
			}
		}
		b, err := decodeBroker(1, data)
		b.Registered = b.Registered.Truncate(time.Millisecond)
		again("broker", b, err, b.encode, func(d []byte) (any, error) {
			second, err := decodeBroker(1, d)
			if b.Registered.IsZero() {
				second.Registered = b.Registered // no time is written as the year 1, as it was not there
			}
			return second, err
		})
		topic, err := decodeTopic("T", data)
		again("topic", topic, err, topic.encode, func(d []byte) (any, error) { return decodeTopic("T", d) })
		if err == nil && topic.ID != "" && checkID(topic.ID) != nil {
			t.Errorf("topic id %q", topic.ID)
		}
		state, err := decodeState(data)
		again("state", state, err, func() []byte { return encode(state) }, func(d []byte) (any, error) { return decodeState(d) })
		settings, err := decodeSettings(data)
		again("settings", settings, err, func() []byte { return encodeSettings(settings) }, func(d []byte) (any, error) { return decodeSettings(d) })
		change, err := decodeChange(data)
		again("change", change, err, func() []byte { return encodeChange(change) }, func(d []byte) (any, error) { return decodeChange(d) })
		m, err := decodeMember("c", data)
		again("member", m, err, m.encode, func(d []byte) (any, error) {
			second, err := decodeMember("c", d)
			if m.Joined.IsZero() {
				second.Joined = m.Joined
			}
			return second, err
		})
		a, err := decodeArbiter(data)
		again("arbiter", a, err, a.encode, func(d []byte) (any, error) { return decodeArbiter(d) })
		offset, err := decodeOffset(data)
		again("offset", offset, err, func() []byte { return encodeOffset(offset) }, func(d []byte) (any, error) { return decodeOffset(d) })
		decodeNote(data, 5)
		decodeAssigned(data)
	})
}

// FuzzEscape: every name survives, is one component of a path that ZooKeeper accepts, and every text that is taken for
// a name is the one that the name has.
func FuzzEscape(f *testing.F) {
	for _, name := range []string{"", ".", "..", "a/b", "%", "%2E", "café", "\x00\xff", strings.Repeat("%", 1024)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		escaped := EscapeName(text)
		if back, err := UnescapeName(escaped); err != nil || back != text {
			t.Errorf("%q is escaped as %q, and comes back as %q, %v", text, escaped, back, err)
		}
		if escaped == "" || escaped[0] == '.' || len(escaped) > 3*len(text)+1 || strings.ContainsFunc(escaped, func(r rune) bool { return r < ' ' || r > '~' || r == '/' }) {
			t.Errorf("%q is escaped as %q", text, escaped)
		}
		if name, err := UnescapeName(text); err == nil && EscapeName(name) != text {
			t.Errorf("%q is taken for %q, which is %q", text, name, EscapeName(name))
		}
	})
}
