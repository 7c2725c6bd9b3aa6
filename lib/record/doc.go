// Package record reads, checks and builds record batches, the one format that the log has on disk, on the wire and in
// memory: Kafka's message format of magic 2 (KIP-98, org.apache.kafka.common.record.DefaultRecordBatch and
// DefaultRecord). The formats before it are read only, for the sake of old segments. It is pure: no files, no
// goroutines, no clock.
//
// # Batch
//
// All integers are big-endian. A batch is a header of 61 bytes and then its records, plain or as one compressed block:
//
//	 0 +-------------------------------------------------------+
//	   | base offset                                    int64  |  id of the first record: not under the CRC,
//	 8 +---------------------------+---------------------------+  so that a broker can set it in place
//	   | length             int32  | leader epoch       int32  |  length counts what follows it: size = length + 12;
//	16 +------+--------------------+------+--------------------+  the leader epoch is not under the CRC either
//	   | mag. | CRC-32C     uint32        |                       magic: int8, 2
//	21 +------+-------------+-------------+-------------+
//	   | attributes  int16  | last offset delta   int32 |         CRC-32C (Castagnoli) of everything from
//	27 +--------------------+------------------+--------+-----+  here, byte 21, to the end of the batch
//	   | base timestamp                                 int64  |  ms since 1970; timestamp of the first record
//	35 +-------------------------------------------------------+
//	   | max timestamp                                  int64  |  ms since 1970; the largest of the batch
//	43 +-------------------------------------------------------+
//	   | producer id                                    int64  |  -1: none
//	51 +--------------------+----------------------------------+
//	   | prod. epoch  int16 | base sequence             int32  |  -1: none
//	57 +--------------------+------+---------------------------+
//	   | record count       int32  |
//	61 +---------------------------+---------------------------+
//	   | records, or one compressed block of them         ...  |
//	   +-------------------------------------------------------+
//
// Attributes, from the lowest bit:
//
//	0-2  codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
//	3    the broker's clock: every record has the max timestamp
//	4    transactional
//	5    control: the records are markers, not messages
//	6    the base timestamp is a compaction deadline (KIP-534); deltas count from it all the same
//
// # Record
//
// Varints are zigzag, least significant group of 7 bits first, at most 5 bytes (10 for the timestamp).
//
//	length           varint   of what follows, in bytes
//	attributes       int8     unused
//	timestamp delta  varint   ms after the base timestamp, may be negative
//	offset delta     varint   id minus base offset
//	key length       varint   -1: the key is null
//	key              bytes
//	value length     varint   -1: the value is null
//	value            bytes
//	header count     varint
//	headers          count times { name length varint, name, value length varint (-1: null), value }
//
// A batch that a producer sends numbers its records 0 to n-1. Compaction, which only foreign files have seen, leaves
// gaps, and may leave a batch without any record.
//
// # Compressed blocks
//
//	gzip    RFC 1952
//	snappy  one raw snappy block, or xerial's framing of several: 82 'SNAPPY' 00, two int32 (versions), then
//	        { length int32, raw block } to the end. Written raw, read in both forms.
//	lz4     LZ4 frame, written with independent blocks of 64 KiB
//	zstd    RFC 8878, written with a window of 256 KiB
//
// # Message sets of magic 0 and 1
//
// Kafka 0.8 and 0.9 (magic 0) and 0.10 (magic 1); LegacyRecord and AbstractLegacyRecordBatch. See EntryIterator.
//
//	 0 +-------------------------------------------------------+
//	   | offset                                         int64  |  id; of a wrapper that of its last message
//	 8 +---------------------------+---------------------------+
//	   | length             int32  | CRC-32             uint32 |  IEEE, of everything from the magic byte to the end
//	16 +------+------+-------------+---------------------------+
//	   | mag. | attr | timestamp                      int64  |     magic 1 only; attributes: bits 0-2 codec,
//	   +------+------+-----------------------------------------+    bit 3 append time (magic 1)
//	   | key length int32 (-1: null), key, value length int32 (-1: null), value
//	   +-------------------------------------------------------+
//
// The value of a compressed message, a wrapper, is a message set of the same magic whose messages are not compressed.
// Their offsets are ids in magic 0. In magic 1 they count from the first of the set: id = wrapper's offset - last inner
// offset + inner offset, but a wrapper with offset 0 has ids inside (old librdkafka). LZ4 frames of magic 0 have a wrong
// header checksum (KAFKA-3160), which is passed over.
//
// # Messages of Kafka 0.7
//
// kafka.message.Message of 0.7; magic 0 is that of 0.6 and before. See Iterator07.
//
//	0 +---------------------------+------+------+---------------------------+
//	  | length             int32  | mag. | attr | CRC-32             uint32 |  IEEE, of the payload alone;
//	  +---------------------------+------+------+---------------------------+  attributes: magic 1 only,
//	  | payload                                                             |  bits 0-1 codec (gzip, snappy)
//	  +---------------------------------------------------------------------+
//
// No id is stored: that is the base id in the file's name + the position in the file. A compressed payload is a set of
// messages that share the id of the one around them.
//
// # Limits
//
// Nothing is believed before it is checked against the bytes that are there. A batch is at most 2^31-1+12 bytes; a
// decompressed block at most MaxDecompressed unless told otherwise; a record has at most MaxHeaders headers and takes
// at least 7 bytes, so that a record count is refused when the block is too short for it.
package record
