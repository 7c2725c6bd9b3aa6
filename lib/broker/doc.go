// Package broker speaks the Kafka protocol: it accepts connections and answers their requests from the logs of one
// data directory.
//
// # A connection
//
// Each connection has two goroutines with a bounded queue of the answers that are owed between them:
//
//	          size, key, version checked        answers in the order of the requests
//	socket ──> reader ──> frame in one ──> handler ──> queue ──> writer ──> socket
//	                      pooled buffer       │                    │
//	                                          └─ append to a log   ├─ waits for the flush of a produce (acks=all)
//	                                             (one write from   ├─ waits for enough data (the long poll of a fetch)
//	                                             the same buffer)  └─ sends file ranges with sendfile(2)
//
// Whatever has to wait waits in the writer, when its turn has come. So answers stay in order, and while one of them
// waits the requests behind it are read and their batches appended, up to maxPending answers or maxPendingBytes bytes.
//
// # Memory
//
// The size of a frame is checked before anything is allocated, and its buffer is charged to Options.MemoryLimit, one
// account for all connections: a reader waits until there is room. A frame that is not a Produce is charged
// decodeFactor times its size as well while it is handled, because its decoded form is larger than itself. What answers
// keep above freeBytes a connection is charged until they are written; answers do not wait for room, or nothing would
// ever drain. While others wait, a client that does not fill the memory that it has been given loses it, and its
// connection. Record data on its way out is not kept at all: it goes from the file to the socket.
//
// Beside that account, compressed batches are unpacked to be checked: 8 MiB for each processor, and 128 MiB once.
//
// # A frame
//
//	 0       4     6         8               12
//	+-------+-----+---------+---------------+------------------+--------------------+------+
//	| size  | key | version | correlation   | client id        | tagged fields      | body |
//	| int32 | i16 | int16   | int32         | int16 length + n | (flexible only)    |      |
//	+-------+-----+---------+---------------+------------------+--------------------+------+
//	        |<------------------------------ size bytes ---------------------------------->|
//
// An answer is the size, the correlation id, one zero byte for the tagged fields of a flexible header (never for
// ApiVersions, KIP-511), and the body.
package broker
