package record

import (
	"errors"
	"fmt"
)

// What can be wrong with a batch. Errors of this package wrap exactly one of these, or two where it is said.
var (
	// ErrShort: there are fewer bytes than the header, or than the batch according to its header.
	ErrShort = errors.New("batch is cut short")
	// ErrMagic: the message format is not 2.
	ErrMagic = errors.New("message format is not 2")
	// ErrLength: the length field can not be that of a batch, or is not that of the bytes given.
	ErrLength = errors.New("batch length is wrong")
	// ErrCRC: the checksum is not that of the bytes; the error is a *CRCError.
	ErrCRC = errors.New("batch checksum is wrong")
	// ErrTooLarge: the batch, its decompressed records or their number exceed a limit.
	ErrTooLarge = errors.New("batch is too large")
	// ErrCodec: the compression codec is not known.
	ErrCodec = errors.New("compression codec is unknown")
	// ErrInvalid: the batch contradicts itself or the format. Validate wraps it beside ErrShort and ErrLength too.
	ErrInvalid = errors.New("batch is malformed")
)

// CRCError tells both checksums of a damaged batch.
type CRCError struct {
	Expected uint32 // in the header
	Found    uint32 // of the bytes
}

func (e *CRCError) Error() string {
	return fmt.Sprintf("%v: header says %08x, bytes have %08x", ErrCRC, e.Expected, e.Found)
}

func (e *CRCError) Unwrap() error { return ErrCRC }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrTooLarge, fmt.Errorf(format, args...))
}
