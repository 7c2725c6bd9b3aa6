package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxDecompressed is how many bytes the records of a batch may take when decompressed, unless a limit is given.
const MaxDecompressed = 128 << 20

// zstdMemory is the least a zstd decoder is allowed, in bytes: below that it would refuse common frames for the window
// they announce, however little they hold. The limit on the output is kept all the same.
const zstdMemory = 8 << 20

// maxSnappyRatio is more than a snappy block can expand: three bytes copy at most 64.
const maxSnappyRatio = 32

var xerialMagic = []byte("\x82SNAPPY\x00")

// xerialHeader is the magic and two version numbers.
const xerialHeader = 16

// decompress appends the decompressed block src to dst: at most limit bytes (0: MaxDecompressed), else ErrTooLarge, and
// no more memory than about that is used on the way, whatever src announces. A broken block is ErrInvalid. What dst has
// become is returned in any case, so that a caller can keep the buffer.
func decompress(dst []byte, codec Codec, src []byte, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = MaxDecompressed
	}
	most := int(min(limit, math.MaxInt32))
	if codec <= None || codec > Zstd {
		return dst, fmt.Errorf("%w: %d", ErrCodec, codec)
	}
	if len(src) == 0 {
		return dst, invalid("%v block: empty", codec)
	}
	out, err := decoders[codec](dst, src, most)
	if err == nil && len(out)-len(dst) > most {
		err = errOverLimit
	}
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, errOverLimit):
		return out, tooLarge("%v block: more than %d bytes decompressed", codec, most)
	}
	return out, invalid("%v block: %w", codec, err)
}

// decoders append at most about most bytes to dst, and return errOverLimit rather than more.
var decoders = [...]func(dst, src []byte, most int) ([]byte, error){Gzip: gunzip, Snappy: unsnappy, LZ4: unlz4, Zstd: unzstd}

// errOverLimit is what the codecs below return at the limit.
var errOverLimit = errors.New("decompressed size over the limit")

// Decoders, with the reader that each of them reads from.
type (
	gzipDecoder struct {
		src bytes.Reader
		r   gzip.Reader
	}
	lz4Decoder struct {
		src bytes.Reader
		r   *lz4.Reader
	}
	zstdDecoder struct {
		d      *zstd.Decoder
		memory int // what it is allowed
	}
)

var (
	gzipDecoders = sync.Pool{New: func() any { return new(gzipDecoder) }}
	lz4Decoders  = sync.Pool{New: func() any { return &lz4Decoder{r: lz4.NewReader(nil)} }}
	zstdDecoders = sync.Pool{New: func() any { return new(zstdDecoder) }}
)

func gunzip(dst, src []byte, most int) ([]byte, error) {
	d := gzipDecoders.Get().(*gzipDecoder)
	defer gzipDecoders.Put(d)
	d.src.Reset(src)
	defer d.src.Reset(nil)
	if err := d.r.Reset(&d.src); err != nil {
		return dst, unexpected(err)
	}
	return readAll(dst, &d.r, len(src), most)
}

func unlz4(dst, src []byte, most int) ([]byte, error) {
	d := lz4Decoders.Get().(*lz4Decoder)
	defer lz4Decoders.Put(d)
	d.src.Reset(src)
	defer d.src.Reset(nil)
	d.r.Reset(&d.src)
	return readAll(dst, d.r, len(src), most)
}

// readAll appends what r has to dst, growing it as the bytes come.
func readAll(dst []byte, r io.Reader, hint, most int) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, min(most, max(4*hint, 512)))
	for {
		room := dst[len(dst):cap(dst)]
		if len(room) == 0 {
			dst = slices.Grow(dst, 1)
			continue
		}
		n, err := r.Read(room)
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > most:
			return dst, errOverLimit
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func unzstd(dst, src []byte, most int) ([]byte, error) {
	d := zstdDecoders.Get().(*zstdDecoder)
	defer zstdDecoders.Put(d)
	if err := d.allow(max(most, zstdMemory)); err != nil {
		return dst, err
	}
	out, err := d.d.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return dst, errOverLimit
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// allow makes the decoder one that uses at most that many bytes.
func (d *zstdDecoder) allow(memory int) (err error) {
	switch {
	case d.d == nil:
		d.d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(memory)))
	case d.memory != memory:
		err = d.d.ResetWithOptions(nil, zstd.WithDecoderMaxMemory(uint64(memory)))
	}
	d.memory = memory
	return err
}

var errXerial = errors.New("malformed xerial frame")

// unsnappy takes a raw block or several in xerial's framing.
func unsnappy(dst, src []byte, most int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return unsnappyBlock(dst, src, most)
	}
	if len(src) < xerialHeader {
		return dst, errXerial
	}
	start := len(dst)
	for src = src[xerialHeader:]; len(src) > 0; {
		if len(src) < 4 {
			return dst, errXerial
		}
		n := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(n) > uint64(len(src)) {
			return dst, errXerial
		}
		var err error
		if dst, err = unsnappyBlock(dst, src[:n], most-(len(dst)-start)); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

func unsnappyBlock(dst, src []byte, most int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	switch {
	case err != nil:
		return dst, err
	case n > most:
		return dst, errOverLimit
	case n > maxSnappyRatio*len(src):
		return dst, s2.ErrCorrupt
	}
	dst = slices.Grow(dst, n)
	block, err := s2.Decode(dst[len(dst):len(dst)+n], src)
	if err != nil {
		return dst, err
	}
	return dst[:len(dst)+len(block)], nil
}
