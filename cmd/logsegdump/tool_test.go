package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/cli"
	"logkit/lib/record"
)

// execute runs the tool.
func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newTool().Execute(context.Background(), args, cli.Stdio{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	return code, out.String(), errs.String()
}

// segment is a log of one batch of three records, 10 ms apart.
func segment(t *testing.T, codec record.Codec) string {
	t.Helper()
	b := record.NewBuilder(codec)
	for i := range int64(3) {
		b.Append(record.Record{Timestamp: 1700000000000 + 10*i, Value: []byte("\x1b[31mred\n" + strings.Repeat("x", 100))})
	}
	batch, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "00000000000000000000.log")
	if err := os.WriteFile(path, batch, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSpans(t *testing.T) {
	for _, row := range []struct {
		text string
		want span
	}{
		{"5", span{5, math.MaxInt64}},
		{"5..", span{5, math.MaxInt64}},
		{"5..9", span{5, 9}},
		{"..9", span{math.MinInt64, 9}},
		{"earliest..latest", everything},
		{"7..7", span{7, 7}},
	} {
		s := everything
		if err := s.Set(row.text); err != nil || s != row.want {
			t.Errorf("%s: %v %v, want %v", row.text, s, err, row.want)
		}
	}
	for _, text := range []string{"", "..", "x", "9..5", "-1", "5...9", "@5"} {
		s := everything
		if err := s.Set(text); err == nil {
			t.Errorf("%q: taken, as %v", text, s)
		}
	}
	now := time.UnixMilli(1700000000000)
	for _, row := range []struct {
		text string
		want span
	}{
		{"2023-11-14T22:13:20Z..2023-11-14T22:13:21Z", span{1700000000000, 1700000001000}},
		{"@1700000000..", span{1700000000000, math.MaxInt64}},
		{"1700000000500", span{1700000000500, math.MaxInt64}},
		{"-10s..-5s", span{1699999990000, 1699999995000}},
	} {
		s := timeSpan{everything, func() time.Time { return now }}
		if err := s.Set(row.text); err != nil || s.span != row.want {
			t.Errorf("%s: %v %v, want %v", row.text, s.span, err, row.want)
		}
	}
}

// TestJSONKeys: the keys are a contract, in this order.
func TestJSONKeys(t *testing.T) {
	path := segment(t, record.Gzip)
	for args, want := range map[string]string{
		"": "file position base_offset last_offset next_offset size count codec producer_id producer_epoch base_sequence " +
			"timestamp max_timestamp crc valid verdict format leader_epoch log_append_time transactional control",
		"-r":        "topic partition offset timestamp key value headers position",
		"--values":  "topic partition offset timestamp key value headers",
		"--summary": "file first_offset last_offset batches records bytes payload_bytes codecs timestamp max_timestamp overhead_per_record verdicts",
	} {
		_, stdout, _ := execute(t, "", strings.Fields("--json "+args+" "+path)...)
		line, _, _ := strings.Cut(stdout, "\n")
		d := json.NewDecoder(strings.NewReader(line))
		var keys []string
		depth := 0
		for isKey := false; ; {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch delim, ok := token.(json.Delim); {
			case ok && (delim == '{' || delim == '['):
				depth++
				isKey = true
			case ok:
				depth--
				isKey = true
			case depth == 1 && isKey:
				keys = append(keys, token.(string))
				isKey = false
			default:
				isKey = true
			}
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s\nwant %s", args, got, want)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := execute(t, string(data[:len(data)-1]), "-c", "--json", "-")
	want := `{"file":"-","position":0,"end":` + stdout[strings.Index(stdout, `"end":`)+6:strings.Index(stdout, `,"id"`)] + `,"id":null,"valid":false,"verdict":"torn_tail",`
	if code != cli.ExitDamaged || !strings.HasPrefix(stdout, want) {
		t.Errorf("%d %s", code, stdout)
	}
}

// TestBombIsReported: what decompresses to more than it may is named, not expanded.
func TestBombIsReported(t *testing.T) {
	path := segment(t, record.Gzip)
	for _, args := range []string{"--values", "-r", "-x", "--summary", "-c -r"} {
		code, stdout, stderr := execute(t, "", strings.Fields("--max-decompressed 100 "+args+" "+path)...)
		if code != cli.ExitDamaged || !strings.Contains(stdout+stderr, "decompresses to too much") {
			t.Errorf("%s: %d %s %s", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := execute(t, "", "-c", "--max-decompressed", "100", path); code != 0 {
		t.Errorf("a check that decompresses nothing: %d %s", code, stderr)
	}
}

func TestRangesOfRecords(t *testing.T) {
	path := segment(t, record.None)
	for args, want := range map[string]string{
		"-o 1": "1 2 ", "-o 1..2": "1 ", "-o ..1": "0 ", "-o 3": "", "--time 1700000000005..1700000000020": "1 ", "--time 1700000000010": "1 2 ",
		"--time 2030-01-01": "",
	} {
		code, stdout, stderr := execute(t, "", strings.Fields("--values --format %o\\x20 "+args+" "+path)...)
		if code != 0 || stdout != want {
			t.Errorf("%s: %d %q %s, want %q", args, code, stdout, stderr, want)
		}
	}
}

// TestRecordsAreALineEach: whatever is in them, and nothing that moves a cursor.
func TestRecordsAreALineEach(t *testing.T) {
	_, stdout, _ := execute(t, "", "-r", segment(t, record.None))
	if n := strings.Count(stdout, "\n"); n != 5 || strings.Contains(stdout, "\x1b") {
		t.Errorf("%d lines: %q", n, stdout)
	}
}

func TestTimeBarsStayAScreenful(t *testing.T) {
	bars := newTimeBars()
	total := int64(0)
	for _, ms := range []int64{0, 1, 1700000000000, 1700000000001, 1700086400000, math.MaxInt64} {
		bars.add(ms)
		total++
		list := bars.bars()
		n := int64(0)
		for _, b := range list {
			n += b.n
		}
		if len(list) > maxTimeBars || n != total {
			t.Errorf("up to %d: %d bars with %d of %d", ms, len(list), n, total)
		}
	}
}

func TestSizeBars(t *testing.T) {
	var bars sizeBars
	for _, size := range []int64{0, 1, 2, 3, 4, 7, 8} {
		bars.add(size)
	}
	want := []bar{{0, 1, 1}, {1, 2, 1}, {2, 4, 2}, {4, 8, 2}, {8, 16, 1}}
	if diff := cmp.Diff(want, bars.bars(), cmp.AllowUnexported(bar{})); diff != "" {
		t.Error("(-want +got):", diff)
	}
}
