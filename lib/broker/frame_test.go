package broker

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestBadFrames: each of these ends its connection with one log line, and no other.
func TestBadFrames(t *testing.T) {
	size := func(n uint32, rest ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, n), rest...) }
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 1
	unknownVersion := encodeRequest(metadata, 1)
	binary.BigEndian.PutUint16(unknownVersion[6:], 99)
	fetchTooOld := encodeRequest(metadata, 1)
	binary.BigEndian.PutUint16(fetchTooOld[4:], 1)
	for _, test := range []struct {
		name  string
		bytes []byte
		half  bool // the client closes its side
		want  string
	}{
		{"another protocol", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), false, "frame of 1195725856 bytes"},
		{"largest length", size(0x7fffffff), false, "frame of 2147483647 bytes"},
		{"negative length", size(0xffffffff), false, "frame of -1 bytes"},
		{"zero length", size(0), false, "frame of 0 bytes"},
		{"shorter than a header", size(9, 0, 18, 0, 0, 0, 0, 0, 1, 0), false, "frame of 9 bytes"},
		{"unknown key", size(10, 0, 99, 0, 0, 0, 0, 0, 1, 0xff, 0xff), false, "key 99"},
		{"negative key", size(10, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff), false, "key -1"},
		{"unknown version", unknownVersion, false, "Metadata v99"},
		{"version below", fetchTooOld, false, "Fetch v1"},
		{"negative version", size(10, 0, 18, 0xff, 0xff, 0, 0, 0, 1, 0xff, 0xff), false, "ApiVersions v-1"},
		{"large request that is no produce", size(maxControlFrame+1, 0, 3, 0, 1), false, "Metadata of"},
		{"client id beyond the frame", size(10, 0, 3, 0, 1, 0, 0, 0, 1, 0, 100), false, "header of a Metadata v1"},
		{"empty body", size(10, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff), false, "body of a Metadata v1"},
		{"array longer than the frame", size(14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff), false, "body of a Metadata v1"},
		{"half a size", []byte{0, 0}, true, "2 bytes into the size"},
		{"half a frame", size(100, 0, 3, 0, 1, 0, 0), true, "within a frame of 100 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, setup{})
			good, bad := s.dial(), s.dial()
			versions := kmsg.NewPtrApiVersionsRequest()
			good.ask(versions)
			bad.write(test.bytes)
			if test.half {
				bad.conn.(interface{ CloseWrite() error }).CloseWrite()
			}
			bad.closed()
			s.eventually("the log line", func() bool { return len(s.log.lines("level=WARN")) > 0 })
			if lines := s.log.lines(test.want); len(lines) != 1 {
				t.Errorf("log %q, want one line with %q", s.log.lines(""), test.want)
			}
			if lines := s.log.lines("level=WARN"); len(lines) != 1 {
				t.Errorf("log %q, want one line", lines)
			}
			good.ask(versions)
		})
	}
}

// TestGoodRequestsBeforeABadOne are answered.
func TestGoodRequestsBeforeABadOne(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	versions := kmsg.NewPtrApiVersionsRequest()
	c.write(append(encodeRequest(versions, 1), "GET / HTTP/1.1"...))
	c.receive(versions, 1)
	c.closed()
}

func TestAPIVersions(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	for version := int16(0); version <= 3; version++ {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = version
		resp := c.ask(req).(*kmsg.ApiVersionsResponse)
		if resp.ErrorCode != 0 || len(resp.ApiKeys) != len(standardAPIs()) {
			t.Fatalf("v%d: error %d, %d keys", version, resp.ErrorCode, len(resp.ApiKeys))
		}
		for i, row := range standardAPIs() {
			if got := resp.ApiKeys[i]; got.ApiKey != row.key.Int16() || got.MinVersion != row.min || got.MaxVersion != row.max {
				t.Errorf("v%d: %+v, want %v %d-%d", version, got, row.key.Name(), row.min, row.max)
			}
		}
	}
}

// TestAPIVersionsTooHigh: answered with v0, so that the client can come down (KIP-511).
func TestAPIVersionsTooHigh(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 3
	frame := encodeRequest(req, 5)
	binary.BigEndian.PutUint16(frame[6:], 9)
	c.write(frame)
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := resp.ReadFrom(c.frame()[4:]); err != nil {
		t.Fatal(err)
	}
	want := kmsg.NewApiVersionsResponseApiKey()
	want.ApiKey, want.MaxVersion = 18, 3
	if resp.ErrorCode != kerr.UnsupportedVersion.Code || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].MaxVersion != 3 || resp.ApiKeys[0].ApiKey != 18 {
		t.Errorf("%+v", resp)
	}
	c.ask(req) // the connection goes on
}

// TestFramesSplitAnywhere: the bytes of requests may come in any pieces.
func TestFramesSplitAnywhere(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	versions := kmsg.NewPtrApiVersionsRequest()
	all := append(encodeRequest(versions, 1), encodeRequest(versions, 2)...)
	for _, b := range all {
		c.write([]byte{b})
	}
	c.receive(versions, 1)
	c.receive(versions, 2)
	c.write(bytes.Join([][]byte{encodeRequest(versions, 3), encodeRequest(versions, 4)}, nil))
	c.receive(versions, 3)
	c.receive(versions, 4)
}
