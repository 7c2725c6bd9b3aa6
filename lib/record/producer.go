package record

import (
	"encoding/binary"
	"hash/crc32"
)

// SetProducer writes an idempotent producer (KIP-98) and the sequence of the first record into a batch, in place, and
// the CRC, which covers them. -1 for each: none.
func SetProducer(batch []byte, id int64, epoch int16, sequence int32) {
	binary.BigEndian.PutUint64(batch[producerIDAt:], uint64(id))
	binary.BigEndian.PutUint16(batch[producerEpochAt:], uint16(epoch))
	binary.BigEndian.PutUint32(batch[baseSequenceAt:], uint32(sequence))
	binary.BigEndian.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
}
