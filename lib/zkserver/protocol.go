package zkserver

// Operations (ZooDefs.OpCode of ZooKeeper).
const (
	opCreate          = 1
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opSetData         = 5
	opGetACL          = 6
	opSetACL          = 7
	opGetChildren     = 8
	opSync            = 9
	opPing            = 11
	opGetChildren2    = 12
	opCheck           = 13
	opMulti           = 14
	opCreate2         = 15
	opReconfig        = 16
	opCheckWatches    = 17
	opRemoveWatches   = 18
	opCreateContainer = 19
	opCreateTTL       = 21
	opMultiRead       = 22
	opAuth            = 100
	opSetWatches      = 101
	opGetEphemerals   = 103
	opCountChildren   = 104 // getAllChildrenNumber
	opSetWatches2     = 105
	opAddWatch        = 106
	opWhoAmI          = 107
	opCloseSession    = -11
	opError           = -1 // in the results of a multi
)

// Transaction ids of frames that are not replies in order. Everything else is echoed as it came.
const (
	xidEvent = -1
	xidPing  = -2
)

// code is the error of a reply (KeeperException.Code of ZooKeeper); codeOK is none.
type code int32

const (
	codeOK                   code = 0
	codeSystemError          code = -1
	codeRuntimeInconsistency code = -2
	codeMarshalling          code = -5
	codeUnimplemented        code = -6
	codeBadArguments         code = -8
	codeNoNode               code = -101
	codeNoAuth               code = -102
	codeBadVersion           code = -103
	codeNoChildrenForEphem   code = -108
	codeNodeExists           code = -110
	codeNotEmpty             code = -111
	codeInvalidACL           code = -114
	codeAuthFailed           code = -115
	codeNoWatcher            code = -121
	codeReconfigDisabled     code = -123
	codeQuotaExceeded        code = -125
)

// Event types (Watcher.Event.EventType of ZooKeeper).
const (
	eventCreated         = 1
	eventDeleted         = 2
	eventDataChanged     = 3
	eventChildrenChanged = 4
)

// stateConnected is the state that every event carries: SyncConnected.
const stateConnected = 3

// Flags of a create.
const (
	flagEphemeral  = 1
	flagSequence   = 2
	modeContainer  = 4
	modeTTL        = 5
	modeSequentTTL = 6
)

// ownerContainer is what a container node has in the place of an owner. Clients are told 0.
const ownerContainer = -1 << 63

// stat is a node's record as clients see it. Zxids are those of the creation, of the last change of the data, and of
// the last change of the children; times are milliseconds since 1970.
type stat struct {
	czxid, mzxid, pzxid         int64
	ctime, mtime                int64
	version, cversion, aversion int32
	owner                       int64 // session of an ephemeral node, 0 for others
	dataLength, children        int32
}

// connectRequest is the first frame of a client.
type connectRequest struct {
	lastZxid     int64
	timeout      int32 // ms
	session      int64
	password     []byte
	sentReadOnly bool // the client knows of read-only mode and expects that byte in the answer
}

// Sizes of the first frame: without the read-only byte and with an empty password, and the most that is read before
// a client has a session.
const (
	minConnect = 28
	maxConnect = 1024
)

func decodeConnect(b []byte) (connectRequest, error) {
	d := decoder{b: b}
	d.int32() // protocol version: 0 from all clients, ignored by ZooKeeper too
	r := connectRequest{lastZxid: d.int64(), timeout: d.int32(), session: d.int64(), password: d.buffer()}
	if d.err == nil && len(d.b) > 0 {
		r.sentReadOnly = true
	}
	return r, d.err
}

func appendConnectReply(b []byte, timeout int32, session int64, password []byte, readOnlyByte bool) []byte {
	b = appendInt32(b, 0)
	b = appendInt32(b, timeout)
	b = appendInt64(b, session)
	b = appendBuffer(b, password)
	if readOnlyByte {
		b = appendBool(b, false)
	}
	return b
}

func appendReplyHeader(b []byte, xid int32, zxid int64, c code) []byte {
	b = appendInt32(b, xid)
	b = appendInt64(b, zxid)
	return appendInt32(b, int32(c))
}
