package broker

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// TestFetchEncoding compares the hand-written response with kmsg's, byte by byte, for every version, with records that
// are copied, records that are sent from the file, and none.
func TestFetchEncoding(t *testing.T) {
	content := make([]byte, 3*copyBelow)
	for i := range content {
		content[i] = byte(i * 7)
	}
	path := filepath.Join(t.TempDir(), "file.log")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	files := segment.NewFiles(vfs.OS, 0)
	defer files.Close()
	slice := func(pos, n int64, high int64) commitlog.Slice {
		s := commitlog.Slice{Positions: commitlog.Positions{Start: 3, HighWatermark: high, End: high + 9}}
		if n > 0 {
			h, err := files.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			s.Handle, s.Pos, s.Len = h, pos, n
		}
		return s
	}
	topics := []kmsg.FetchRequestTopic{
		{Topic: "first", Partitions: make([]kmsg.FetchRequestTopicPartition, 3)},
		{Topic: "none", Partitions: nil},
		{Topic: "second", Partitions: make([]kmsg.FetchRequestTopicPartition, 1)},
	}
	for version := int16(4); version <= 12; version++ {
		parts := []fetchPart{
			{key: partitionKey{"first", 0}, slice: slice(0, 0, 100)},
			{key: partitionKey{"first", 5}, slice: slice(10, copyBelow-1, 200)},
			{key: partitionKey{"first", 6}, slice: slice(copyBelow, 2*copyBelow, 300)},
			{key: partitionKey{"second", 1}, slice: slice(0, 1, 400)},
		}
		unknown := &parts[0]
		unknown.fail(kerr.UnknownTopicOrPartition)
		results := []*fetchResult{
			{version: version, topics: topics, parts: parts},
			{version: version},
		}
		if version >= 7 {
			results = append(results, &fetchResult{version: version, code: kerr.FetchSessionIDNotFound.Code})
		}
		for _, result := range results {
			sent, calls := sentOverTCP(t, 42, result)
			if want := byKmsg(t, content, 42, result); !bytes.Equal(want, sent) { // cmp takes its time to find two equal
				t.Errorf("v%d, %d topics (-kmsg +ours):\n%s", version, len(result.topics), cmp.Diff(want, sent))
			}
			if want := min(len(result.topics), 1); calls < want || want == 0 && calls != 0 {
				t.Errorf("v%d: sendfile called %d times for %d large ranges", version, calls, want)
			}
		}
		for i := range parts {
			parts[i].slice.Release()
		}
	}
}

// byKmsg encodes a result the way kmsg does, records included.
func byKmsg(t *testing.T, content []byte, correlation int32, r *fetchResult) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ErrorCode = r.version, r.code
	parts := r.parts
	for _, topic := range r.topics {
		out := kmsg.NewFetchResponseTopic()
		out.Topic = topic.Topic
		for range topic.Partitions {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode = parts[0].key.partition, parts[0].code
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
			if p.ErrorCode == 0 {
				marks := parts[0].slice.Positions
				p.HighWatermark, p.LastStableOffset, p.LogStartOffset = marks.HighWatermark, marks.HighWatermark, marks.Start
			}
			s := parts[0].slice
			p.RecordBatches = append([]byte{}, content[s.Pos:s.Pos+s.Len]...)
			out.Partitions = append(out.Partitions, p)
			parts = parts[1:]
		}
		resp.Topics = append(resp.Topics, out)
	}
	encoded := appendResponse(nil, correlation, resp)
	back := kmsg.NewPtrFetchResponse()
	back.Version = r.version
	header := 8
	if resp.IsFlexible() {
		header++
	}
	if err := back.ReadFrom(encoded[header:]); err != nil {
		t.Fatal(err)
	}
	return encoded
}

// sentOverTCP writes a result to a real connection, and returns what came out and how often sendfile was called.
func sentOverTCP(t *testing.T, correlation int32, r *fetchResult) ([]byte, int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	calls := 0
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		out := newOutput(conn, new(bufferPool), patience, func(raw syscall.RawConn, in source, pos int64, n int) (int, error) {
			calls++
			return sendFile(raw, in, pos, min(n, copyBelow/2)) // in several pieces
		})
		if err := writeFetch(out, correlation, r); err != nil {
			t.Error(err)
		}
		if err := out.flush(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(conn); err != nil {
		t.Fatal(err)
	}
	return got.Bytes(), calls
}
