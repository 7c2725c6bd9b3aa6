package zkserver

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// version is the ZooKeeper whose protocol this is, written so that clients which parse the line of srvr can.
const version = "3.8.0-logkit, built on 01/01/2026 00:00 GMT"

// fourLetterWords are the questions that a connection may begin with instead of a session. Those that change something
// (crst, srst) or tell nothing useful of a single node are not among them.
var fourLetterWords = map[string]func(s *Server, b *strings.Builder){
	"ruok": func(_ *Server, b *strings.Builder) { b.WriteString("imok") },
	"isro": func(_ *Server, b *strings.Builder) { b.WriteString("rw") },
	"srvr": (*Server).tellServer,
	"stat": (*Server).tellStat,
	"mntr": (*Server).tellMonitor,
	"conf": (*Server).tellConf,
	"cons": (*Server).tellConns,
	"dump": (*Server).tellDump,
	"wchs": (*Server).tellWatches,
	"wchc": (*Server).tellWatchesByConn,
	"wchp": (*Server).tellWatchesByPath,
	"envi": (*Server).tellEnvironment,
}

// answerWord queues the answer as it is, without a frame.
func (c *conn) answerWord(tell func(*Server, *strings.Builder)) {
	var b strings.Builder
	c.s.mu.RLock()
	tell(c.s, &b)
	c.s.mu.RUnlock()
	c.out.addRaw(b.String())
}

func (s *Server) tellServer(b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\n", version)
	s.tellCounters(b)
}

func (s *Server) tellCounters(b *strings.Builder) {
	least, mean, most := s.stats.latency.ms()
	fmt.Fprintf(b, "Latency min/avg/max: %.0f/%.1f/%.0f\n", least, mean, most)
	fmt.Fprintf(b, "Received: %d\nSent: %d\n", s.stats.received.Load(), s.stats.sent.Load())
	fmt.Fprintf(b, "Connections: %d\nOutstanding: %d\n", len(s.conns), s.outstanding())
	fmt.Fprintf(b, "Zxid: %s\nMode: standalone\nNode count: %d\n", inHex(s.zxid), len(s.tree.nodes))
}

func (s *Server) outstanding() (n int) {
	for c := range s.conns {
		n += c.out.pending()
	}
	return n
}

// connsByAge lists the connections in the order in which they came.
func (s *Server) connsByAge() []*conn {
	return slices.SortedFunc(maps.Keys(s.conns), func(a, b *conn) int { return int(a.id - b.id) })
}

func (s *Server) tellStat(b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\nClients:\n", version)
	for _, c := range s.connsByAge() {
		fmt.Fprintf(b, " /%s[%d](queued=%d,recved=%d,sent=%d)\n", c.nc.RemoteAddr(), c.interest(),
			c.out.pending(), c.stats.received.Load(), c.stats.sent.Load())
	}
	b.WriteByte('\n')
	s.tellCounters(b)
}

// interest is what a Java selector would wait for: 1, input, of a connection with a session.
func (c *conn) interest() int {
	if c.session == nil {
		return 0
	}
	return 1
}

func (s *Server) tellConns(b *strings.Builder) {
	for _, c := range s.connsByAge() {
		fmt.Fprintf(b, " /%s[%d](queued=%d,recved=%d,sent=%d", c.nc.RemoteAddr(), c.interest(),
			c.out.pending(), c.stats.received.Load(), c.stats.sent.Load())
		if sess := c.session; sess != nil {
			least, mean, most := c.stats.latency.ms()
			fmt.Fprintf(b, ",sid=%s,lop=%s,est=%d,to=%d,lcxid=%s,lzxid=%s,lresp=%d,llat=%.0f,minlat=%.0f,avglat=%.0f,maxlat=%.0f",
				inHex(sess.id), opName(c.stats.lastOp.Load()), c.stats.established.UnixMilli(), sess.timeout.Milliseconds(),
				inHex(int64(c.stats.lastXid.Load())), inHex(c.stats.lastZxid.Load()),
				c.stats.lastTime.Load()/int64(time.Millisecond), mean, least, mean, most)
		}
		b.WriteString(")\n")
	}
	b.WriteByte('\n')
}

// opNames are ZooKeeper's abbreviations.
var opNames = map[int32]string{
	opCreate: "CREA", opCreate2: "CREA", opCreateContainer: "CREA", opDelete: "DELE", opExists: "EXIS", opGetData: "GETD",
	opSetData: "SETD", opGetACL: "GETA", opSetACL: "SETA", opGetChildren: "GETC", opGetChildren2: "GETC", opSync: "SYNC",
	opPing: "PING", opCheck: "CHEC", opMulti: "MULT", opSetWatches: "SETW", opSetWatches2: "STW2", opAddWatch: "ADDW",
	opCheckWatches: "CHKW", opRemoveWatches: "REMW", opGetEphemerals: "GETE", opCountChildren: "GETACN",
	opWhoAmI: "HOMI", opMultiRead: "MLTR", opCloseSession: "CLOS",
}

func opName(op int32) string {
	if name, ok := opNames[op]; ok {
		return name
	}
	return "NA"
}

func (s *Server) tellMonitor(b *strings.Builder) {
	least, mean, most := s.stats.latency.ms()
	ephemerals := 0
	for _, paths := range s.tree.ephemerals {
		ephemerals += len(paths)
	}
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // 0 when it is not known
	for _, row := range []struct {
		key   string
		value any
	}{
		{"version", version},
		{"server_state", "standalone"},
		{"avg_latency", fmt.Sprintf("%.4f", mean)},
		{"max_latency", fmt.Sprintf("%.0f", most)},
		{"min_latency", fmt.Sprintf("%.0f", least)},
		{"packets_received", s.stats.received.Load()},
		{"packets_sent", s.stats.sent.Load()},
		{"num_alive_connections", len(s.conns)},
		{"outstanding_requests", s.outstanding()},
		{"global_sessions", len(s.sessions)},
		{"znode_count", len(s.tree.nodes)},
		{"watch_count", s.watches.count},
		{"ephemerals_count", ephemerals},
		{"approximate_data_size", s.tree.bytes},
		{"open_file_descriptor_count", openDescriptors()},
		{"max_file_descriptor_count", limit.Cur},
		{"uptime", time.Since(s.start).Milliseconds()},
	} {
		fmt.Fprintf(b, "zk_%s\t%v\n", row.key, row.value)
	}
}

func openDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries) - 1 // one is the directory's
}

func (s *Server) tellConf(b *strings.Builder) {
	port := -1
	if addr := s.Addr(); addr != nil {
		fmt.Sscanf(addr.String()[strings.LastIndexByte(addr.String(), ':')+1:], "%d", &port)
	}
	fmt.Fprintf(b, "clientPort=%d\ndataDir=%s\ndataLogDir=%s\ntickTime=%d\nmaxClientCnxns=%d\n"+
		"minSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=0\n", port, s.opts.Dir, s.opts.Dir,
		s.opts.TickTime.Milliseconds(), s.opts.MaxConns,
		s.opts.MinSessionTimeout.Milliseconds(), s.opts.MaxSessionTimeout.Milliseconds())
}

func (s *Server) tellDump(b *strings.Builder) {
	now := s.sinceStart()
	fmt.Fprintf(b, "SessionTracker dump:\nSessions (%d):\n", len(s.sessions))
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		fmt.Fprintf(b, "%s\texpires in %dms\n", inHex(id), (s.sessions[id].deadline.Load()-now)/int64(time.Millisecond))
	}
	fmt.Fprintf(b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(s.tree.ephemerals))
	for _, id := range slices.Sorted(maps.Keys(s.tree.ephemerals)) {
		fmt.Fprintf(b, "%s:\n", inHex(id))
		for _, path := range slices.Sorted(maps.Keys(s.tree.ephemerals[id])) {
			fmt.Fprintf(b, "\t%s\n", path)
		}
	}
	fmt.Fprintf(b, "Connections dump:\n")
	for _, c := range s.connsByAge() {
		fmt.Fprintf(b, "\t/%s\n", c.nc.RemoteAddr())
	}
}

func (s *Server) tellWatches(b *strings.Builder) {
	watching := 0
	for c := range s.conns {
		if len(c.watched) > 0 {
			watching++
		}
	}
	fmt.Fprintf(b, "%d connections watching %d paths\nTotal watches:%d\n", watching, len(s.watches.byPath), s.watches.count)
}

func (s *Server) tellWatchesByConn(b *strings.Builder) {
	for _, c := range s.connsByAge() {
		if len(c.watched) == 0 {
			continue
		}
		fmt.Fprintf(b, "%s\n", inHex(c.session.id))
		for _, path := range slices.Sorted(maps.Keys(c.watched)) {
			fmt.Fprintf(b, "\t%s\n", path)
		}
	}
}

func (s *Server) tellWatchesByPath(b *strings.Builder) {
	for _, path := range slices.Sorted(maps.Keys(s.watches.byPath)) {
		fmt.Fprintf(b, "%s\n", path)
		for c := range s.watches.byPath[path] {
			fmt.Fprintf(b, "\t%s\n", inHex(c.session.id))
		}
	}
}

func (s *Server) tellEnvironment(b *strings.Builder) {
	host, _ := os.Hostname() // empty when it is not known
	fmt.Fprintf(b, "Environment:\nzookeeper.version=%s\nhost.name=%s\nos.name=%s\nos.arch=%s\ngo.version=%s\n",
		version, host, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
