package producers

import (
	"errors"
	"fmt"
)

// Why a batch is not to be appended. The errors of Check are *SequenceError and wrap one of these.
var (
	// ErrDuplicate: the batch is stored, but longer ago than ids are remembered (DUPLICATE_SEQUENCE_NUMBER).
	ErrDuplicate = errors.New("batch is stored already")
	// ErrOutOfOrder: the batch is not the next one (OUT_OF_ORDER_SEQUENCE_NUMBER).
	ErrOutOfOrder = errors.New("sequence is out of order")
	// ErrEpoch: the producer has gone on with a higher epoch (INVALID_PRODUCER_EPOCH).
	ErrEpoch = errors.New("producer epoch is over")
	// ErrUnknown: nothing is known of the producer, and the batch is not its first (UNKNOWN_PRODUCER_ID).
	ErrUnknown = errors.New("producer is not known")
)

// SequenceError says which batch is not to be appended, and why.
type SequenceError struct {
	Batch    Batch
	Epoch    int16 // the producer's, when it is known
	Expected int32 // the sequence with which the next batch of that epoch begins
	Before   int64 // of ErrDuplicate: the records have ids below this one
	Err      error // one of the above
}

func (e *SequenceError) Error() string {
	text := fmt.Sprintf("producer %d, epoch %d, sequence %d: %v", e.Batch.Producer, e.Batch.Epoch, e.Batch.Sequence, e.Err)
	switch e.Err {
	case ErrOutOfOrder, ErrUnknown:
		return fmt.Sprintf("%s, expected is %d", text, e.Expected)
	case ErrEpoch:
		return fmt.Sprintf("%s, it has %d", text, e.Epoch)
	}
	return text
}

func (e *SequenceError) Unwrap() error { return e.Err }
