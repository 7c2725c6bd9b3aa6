package zkserver

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestFourLetterWords(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		r.create(t, dir+"/e", nil, flagEphemeral)
		r.must(t, opExists, enc{}.str(dir+"/e").bool(true))
		counters := `Latency min/avg/max: [\d.]+/[\d.]+/[\d.]+\nReceived: \d+\nSent: \d+\nConnections: \d+\nOutstanding: \d+\nZxid: 0x[0-9a-f]+\nMode: standalone\nNode count: \d+\n$`
		for word4, pattern := range map[string]string{
			"ruok": `^imok$`,
			"isro": `^rw$`,
			"srvr": `^Zookeeper version: [^\n]+, built on [^\n]+\n` + counters,
			"stat": `^Zookeeper version: [^\n]+\nClients:\n( /127\.0\.0\.1:\d+\[\d+\]\(queued=\d+,recved=\d+,sent=\d+\)\n)+\n` + counters,
			"cons": `(?m)^ /127\.0\.0\.1:\d+\[1\]\(queued=\d+,recved=\d+,sent=\d+,sid=0x[0-9a-f]+,lop=EXIS,est=\d+,to=\d+,lcxid=0x3,lzxid=0x[0-9a-f]+,lresp=\d+,llat=\d+,minlat=\d+,avglat=\d+,maxlat=\d+\)$`,
			"conf": `(?s)clientPort=\d+\n.*dataDir=[^\n]+\n.*tickTime=200\nmaxClientCnxns=\d+\nminSessionTimeout=400\nmaxSessionTimeout=8000\n`,
			"dump": fmt.Sprintf(`(?s)Sessions with Ephemerals \(\d+\):\n.*0x%x:\n\t%s/e\n`, r.session, regexp.QuoteMeta(dir)),
			"wchs": `^\d+ connections watching \d+ paths\nTotal watches:\d+\n?$`,
			"wchc": fmt.Sprintf(`0x%x\n\t%s/e\n`, r.session, regexp.QuoteMeta(dir)),
			"wchp": fmt.Sprintf(`%s/e\n\t0x%x\n`, regexp.QuoteMeta(dir), r.session),
			"envi": `^Environment:\nzookeeper.version=`,
			"mntr": `(?s)^zk_version\t.*zk_server_state\tstandalone\n`,
		} {
			if text := word(t, target.addr, word4); !regexp.MustCompile(pattern).MatchString(text) {
				t.Errorf("%s: %q does not match %s", word4, text, pattern)
			}
		}
		monitor := word(t, target.addr, "mntr")
		for _, key := range strings.Fields("avg_latency max_latency min_latency packets_received packets_sent num_alive_connections " +
			"outstanding_requests server_state znode_count watch_count ephemerals_count approximate_data_size open_file_descriptor_count max_file_descriptor_count") {
			if !strings.Contains(monitor, "zk_"+key+"\t") {
				t.Errorf("mntr without %s", key)
			}
		}
	})
}

// Requests that are sent without waiting for replies are answered in their order.
func TestPipelining(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		start := r.xid
		const n = 300
		for i := range n {
			switch i % 3 {
			case 0:
				r.request(opCreate, createBody(fmt.Sprintf("%s/n%d", dir, i), nil, 0))
			case 1:
				r.request(opExists, enc{}.str(fmt.Sprintf("%s/n%d", dir, i-1)).bool(false))
			case 2:
				r.request(opGetData, enc{}.str(dir+"/none").bool(false))
			}
		}
		last := int64(0)
		for i := range n {
			reply, err := r.read()
			if err != nil {
				t.Fatal(err)
			}
			want := map[int]int32{2: -101}[i%3]
			if reply.Xid != start+int32(i)+1 || reply.Err != want || reply.Zxid < last {
				t.Fatalf("reply %d: xid %d, error %d, zxid %x after %x", i, reply.Xid-start, reply.Err, reply.Zxid, last)
			}
			last = reply.Zxid
		}
	})
}

// What is not the protocol closes the connection, and only that one.
func TestBadFrames(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		bystander := newRaw(t, target.addr)
		for name, bytes := range map[string]enc{
			"negative length":   enc{}.int(-1),
			"one byte too long": enc{}.int(MaxFrame + 1),
			"two gigabytes":     enc{}.int(1<<31 - 1),
			"no room for xid":   enc{}.int(3).raw([]byte{0, 0, 0}),
		} {
			t.Run(name, func(t *testing.T) {
				r := newRaw(t, target.addr)
				r.nc.Write(bytes)
				r.wantClosed(t)
			})
			t.Run(name+" as connect", func(t *testing.T) {
				r, err := dialRaw(target.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer r.nc.Close()
				r.nc.Write(bytes)
				r.wantClosed(t)
			})
		}
		bystander.settle(t)
		t.Run("largest allowed", func(t *testing.T) {
			r := newRaw(t, target.addr)
			dir := area(t, r)
			overhead := len(createBody(dir+"/big", []byte{}, 0)) + 8
			r.create(t, dir+"/big", make([]byte, MaxFrame-overhead), 0)
		})
	})
}
