package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

func TestParseCodec(t *testing.T) {
	for _, codec := range codecs {
		if got, err := ParseCodec(codec.String()); got != codec || err != nil {
			t.Errorf("ParseCodec(%q) = %v, %v", codec, got, err)
		}
	}
	for _, name := range []string{"", "lzma", "ZSTD", "codec(4)"} {
		_, err := ParseCodec(name)
		wantError(t, name, err, ErrCodec)
	}
	if got := Codec(7).String(); got != "codec(7)" {
		t.Errorf("unknown codec is called %q", got)
	}
}

// xerial frames blocks as the Java client's snappy library does.
func xerial(blocks ...[]byte) []byte {
	out := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for _, block := range blocks {
		block = s2.EncodeSnappy(nil, block)
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
	}
	return out
}

func TestXerial(t *testing.T) {
	plain := build(t, None, awkward())
	block := plain[HeaderSize:]
	for _, n := range []int{1, 1000, len(block)} {
		var parts [][]byte
		for rest := block; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			parts = append(parts, rest[:min(n, len(rest))])
		}
		if n == 1 {
			parts = append(parts[:100], block[100:])
		}
		if _, err := Validate(withBlock(plain, Snappy, xerial(parts...)), Limits{}); err != nil {
			t.Errorf("in pieces of %d: %v", n, err)
		}
	}
	framed := xerial([]byte("first"), []byte("second"))
	for n := range framed {
		whole := n == xerialHeader || n == xerialHeader+4+len(s2.EncodeSnappy(nil, []byte("first")))
		_, err := decompress(nil, Snappy, framed[:n], 0)
		if (err == nil) != whole {
			t.Errorf("cut at %d of %d: %v", n, len(framed), err)
		}
	}
	_, err := decompress(nil, Snappy, framed, 10)
	wantError(t, "limit over all blocks", err, ErrTooLarge)
	got, err := decompress(nil, Snappy, framed, 11)
	if string(got) != "firstsecond" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A small block must not be able to take much memory, whatever it would expand to or says of itself.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 32<<20)
	claim := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	bombs := map[string]struct {
		codec Codec
		block []byte
		want  error
	}{
		"snappy that says 4 GiB":   {Snappy, claim("ffffffff0f00"), ErrTooLarge},
		"snappy that says 1 MiB":   {Snappy, claim("808040040000"), ErrInvalid},
		"zstd that says 2^64-1":    {Zstd, claim("28b52ffde0ffffffffffffffff010000"), ErrTooLarge},
		"zstd that says 1 GiB":     {Zstd, claim("28b52ffda000000040010000"), ErrTooLarge},
		"zstd with a huge window":  {Zstd, claim("28b52ffd00ff010000"), ErrTooLarge},
		"lz4 that says 2^63":       {LZ4, claim("04224d186c70000000000000008023ffffffff"), ErrInvalid},
		"xerial with a huge block": {Snappy, append(bytes.Clone(xerialMagic), claim("00000001000000017fffffff00")...), ErrInvalid},
	}
	for _, codec := range codecs[1:] {
		block, err := compress(nil, codec, zeros)
		if err != nil {
			t.Fatal(err)
		}
		b := bombs["real "+codec.String()]
		b.codec, b.block, b.want = codec, block, ErrTooLarge
		bombs["real "+codec.String()] = b
	}
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			// What the decoders need for themselves is theirs: they are warm.
			warm, _ := compress(nil, bomb.codec, zeros[:2<<20])
			if _, err := decompress(nil, bomb.codec, warm, 0); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := decompress(nil, bomb.codec, bomb.block, limit)
			runtime.ReadMemStats(&after)
			wantError(t, "decompress", err, bomb.want)
			allowed := uint64(8 * limit)
			if bomb.codec == Zstd {
				allowed = 4 * zstdMemory
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > allowed {
				t.Errorf("%d bytes allocated for %d, %d returned; at most %d", got, len(bomb.block), len(out), allowed)
			}
		})
	}
}

// Frames with windows larger than the limit are common: what counts is what comes out.
func TestZstdWindowOverLimit(t *testing.T) {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(8<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // written as a stream, the frame does not tell its size
		if _, err := w.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := decompress(nil, Zstd, out.Bytes(), 3000)
	if len(got) != 3000 || err != nil {
		t.Errorf("%d bytes, %v; want 3000", len(got), err)
	}
	_, err = decompress(nil, Zstd, out.Bytes(), 2999)
	wantError(t, "one less", err, ErrTooLarge)
}

// A cut or flipped block gives an error or other bytes, and the decoder it came through is as good as before.
func TestDecodersSurviveDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	block := build(t, None, benchRecords(50))[HeaderSize:]
	for _, codec := range codecs[1:] {
		t.Run(codec.String(), func(t *testing.T) {
			good, err := compress(nil, codec, block)
			if err != nil {
				t.Fatal(err)
			}
			refused := 0
			for range 300 {
				damaged := bytes.Clone(good)
				damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
				damaged = damaged[:1+random.IntN(len(damaged))]
				if _, err := decompress(nil, codec, damaged, 1<<20); err != nil {
					refused++
				}
				if got, err := decompress(nil, codec, good, 1<<20); err != nil || !bytes.Equal(got, block) {
					t.Fatalf("after %x: %d bytes, %v", damaged, len(got), err)
				}
			}
			if refused < 250 {
				t.Errorf("only %d of 300 damaged blocks were refused", refused)
			}
		})
	}
}

// Encoders and decoders are shared by everyone: the race detector looks on.
func TestCodecsAtOnce(t *testing.T) {
	records := benchRecords(50)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 20 {
				b := NewBuilder(codecs[(n+i)%len(codecs)])
				for _, r := range records {
					b.Append(r)
				}
				batch, err := b.Finish(nil)
				if err == nil {
					_, err = Validate(batch, Limits{MaxDecompressed: int64(1 << (20 + n))})
				}
				if err != nil {
					t.Errorf("%v: %v", b.Codec, err)
				}
			}
		})
	}
	group.Wait()
}
