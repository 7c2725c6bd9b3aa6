// Package zkserver is a ZooKeeper of one node inside the process: the protocol that ZooKeeper's clients speak, a tree
// in memory, and a bbolt file that holds what was acknowledged.
//
// # Protocol
//
// The client protocol of ZooKeeper 3.8, from its sources and from a live server, to which the tests hold this one.
// Numbers are big-endian. A frame, either way:
//
//	| length int32 | body: at most MaxFrame bytes from a client |
//
// The first four bytes of a connection are either a four-letter word in ASCII (answered with text, then closed) or the
// length of a connect request:
//
//	| protocol int32 | last zxid seen int64 | timeout ms int32 | session int64 | password buffer | read-only byte? |
//
// answered by the same fields without the zxid; the read-only byte is sent to whoever sent one. Session 0 asks for a
// session; another is resumed when its password fits, and moves here from its earlier connection. An unknown session
// gets timeout, session and password of zeros and a closed connection. A client that has seen a zxid above ours has
// talked to another server: its connection is closed without an answer, as ZooKeeper does.
//
// After that, requests and replies:
//
//	request  | xid int32 | op int32 | body of the op |
//	reply    | xid int32 | zxid int64 | error int32 | body, when error is 0 |
//	event    | xid -1    | zxid -1    | error 0     | type int32 | state int32 = 3 | path string |
//
// Replies come in the order of requests; only the reply to a ping may overtake. An event is sent before every reply
// that could show the change it tells of, to the writer itself too, and events come in the order of changes.
// In the records, a buffer is a length and bytes (-1 is null), a string the same in UTF-8, a vector a count and items.
//
// # Time
//
// Sessions are measured by the monotonic clock; steps of the wall clock change nothing but the ctime and mtime of
// nodes. A session that stays silent for its timeout ends, its ephemeral nodes with it in one transaction. When the
// process itself was stopped (SIGSTOP, suspend) or the disk kept it from answering for longer than a tick, nobody's
// silence proves anything: every session starts its timeout afresh. So it does when the server is opened.
//
// # Durability
//
//	request -> apply to the tree -> reply, with the zxid it needs, into the connection's outbox
//	               |                                                |
//	               v                                                v waits until durable >= that zxid
//	           dirty set -> committer: one bbolt transaction -> durable zxid -> outboxes go out
//
// A write changes the tree at once, so that the next one sees it, but no reply or event that shows it leaves before
// the bbolt transaction that holds it is on disk. While one transaction is being synced the next gathers: however many
// writes arrive, they share its two fdatasyncs (pages, then the meta page that makes them valid; with a single one a
// power failure could leave a meta page that names pages which were never written). A read waits only if what it read
// is younger than the last sync, so readers of other nodes are served from memory at once. Hence whatever a client was
// told survives kill -9 and power failure, and zxids never go back: the zxid of a reply is durable, too.
//
// The first zxid of a database is taken from the clock, so that clients of a database that was thrown away find their
// session expired, rather than themselves ahead of the server for ever. A session's id is the zxid that made it.
//
// Rows of the database carry checksums, and their number is kept: a database that is not whole is refused by Open.
//
// A full disk stops writes, which are then refused with SystemError, until there is room again: what was already
// applied is tried again. Any other error of the disk is final: the server logs it once, refuses writes, and goes on
// serving what is durable. Err tells.
//
// # What is not there
//
// SASL, TLS, TTL nodes, quotas (their nodes may be made, as any), read-only mode, dynamic configuration, and the commands
// that change something among the four-letter words. Their operations get the errors that ZooKeeper gives for them when
// they are switched off. The file does not shrink when nodes are deleted; their place is used again.
//
// # Limits
//
// Frames, paths, connections, sessions, replies not yet read by a connection, events not yet read by one and by all,
// watches, and the size of the whole tree are bounded (Options). Of several reads in one request, those that come after
// the first MiB of results get SystemError. Input that is not the protocol closes its connection with one line in the log.
package zkserver
