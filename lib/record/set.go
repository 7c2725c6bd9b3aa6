package record

import (
	"encoding/binary"
	"hash/crc32"
)

// SetBaseOffset writes the base offset into a batch, in place. The CRC does not cover it.
func SetBaseOffset(batch []byte, base int64) { binary.BigEndian.PutUint64(batch, uint64(base)) }

// SetLeaderEpoch writes the leader epoch into a batch, in place. The CRC does not cover it.
func SetLeaderEpoch(batch []byte, epoch int32) {
	binary.BigEndian.PutUint32(batch[leaderEpochAt:], uint32(epoch))
}

// SetProducer writes an idempotent producer (KIP-98) and the sequence of the first record into a batch, in place, and
// the CRC, which covers them. -1 for each: none.
func SetProducer(batch []byte, id int64, epoch int16, sequence int32) {
	binary.BigEndian.PutUint64(batch[producerIDAt:], uint64(id))
	binary.BigEndian.PutUint16(batch[producerEpochAt:], uint16(epoch))
	binary.BigEndian.PutUint32(batch[baseSequenceAt:], uint32(sequence))
	setCRC(batch)
}

// SetMaxTimestamp writes the largest timestamp into a batch, in place, and the CRC, which covers it, unless it is there
// already.
func SetMaxTimestamp(batch []byte, timestamp int64) {
	if at := batch[maxTimestampAt:]; binary.BigEndian.Uint64(at) != uint64(timestamp) {
		binary.BigEndian.PutUint64(at, uint64(timestamp))
		setCRC(batch)
	}
}

func setCRC(batch []byte) {
	binary.BigEndian.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
}
