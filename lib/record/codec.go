package record

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec says how the records of a batch are compressed. The numbers are those of the format.
type Codec int8

const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// String is the name that ParseCodec takes, or "codec(N)" of an unknown one.
func (c Codec) String() string {
	if c < 0 || int(c) >= len(codecNames) {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return codecNames[c]
}

// ParseCodec returns the codec of that name: none, gzip, snappy, lz4 or zstd. Its error wraps ErrCodec.
func ParseCodec(name string) (Codec, error) {
	if i := slices.Index(codecNames[:], name); i >= 0 {
		return Codec(i), nil
	}
	return None, fmt.Errorf("%w: %q, not one of none, gzip, snappy, lz4, zstd", ErrCodec, name)
}

// zstdWindow is how far back in a batch the encoder looks, in bytes: what it keeps in memory for a batch is about so much.
const zstdWindow = 256 << 10

// Encoders are kept here rather than in each Builder: there may be thousands of those, and few that are at work.
var (
	gzipWriters  = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	lz4Writers   = sync.Pool{New: func() any { return newLZ4Writer() }}
	zstdEncoders = sync.Pool{New: func() any { return newZstdEncoder() }}
)

// The batch has a CRC of its own, so no codec is asked for another.

func newLZ4Writer() *lz4.Writer {
	w := lz4.NewWriter(nil)
	must(w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)))
	return w
}

// newZstdEncoder also compresses what repeats nothing that the fastest level would see, as a batch of numbers.
func newZstdEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true),
		zstd.WithAllLitEntropyCompression(true))
	must(err)
	return e
}

// must is for options that are constants of this package.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// compress appends src, compressed, to dst.
func compress(dst []byte, codec Codec, src []byte) ([]byte, error) {
	switch codec {
	case Gzip:
		w := gzipWriters.Get().(*gzip.Writer)
		defer gzipWriters.Put(w)
		return stream(dst, w, src)
	case Snappy:
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(src)))
		block := s2.EncodeSnappy(dst[len(dst):cap(dst)], src)
		return dst[:len(dst)+len(block)], nil
	case LZ4:
		w := lz4Writers.Get().(*lz4.Writer)
		defer lz4Writers.Put(w)
		return stream(dst, w, src)
	case Zstd:
		e := zstdEncoders.Get().(*zstd.Encoder)
		defer zstdEncoders.Put(e)
		return e.EncodeAll(src, dst), nil
	}
	return dst, fmt.Errorf("%w: %d", ErrCodec, codec)
}

// resetWriter is an encoder that can begin anew.
type resetWriter interface {
	io.WriteCloser
	Reset(io.Writer)
}

// sink appends what is written to it.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

var sinks = sync.Pool{New: func() any { return new(sink) }}

// stream appends src to dst through an encoder that writes.
func stream(dst []byte, w resetWriter, src []byte) ([]byte, error) {
	out := sinks.Get().(*sink)
	*out = dst
	w.Reset(out)
	_, err := w.Write(src)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	dst, *out = *out, nil
	w.Reset(nil)
	sinks.Put(out)
	return dst, err
}
