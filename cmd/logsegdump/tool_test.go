package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/cli"
	"logkit/lib/record"
)

// execute runs the tool.
func execute(t testing.TB, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newTool().Execute(context.Background(), args, cli.Stdio{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	return code, out.String(), errs.String()
}

// segment is a log of one batch of three records, 10 ms apart.
func segment(t testing.TB, codec record.Codec) string {
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
	want := `{"file":"-","position":0,"end":` + stdout[strings.Index(stdout, `"end":`)+6:strings.Index(stdout, `,"id"`)] + `,"id":null,"end_id":null,"records":3,"valid":false,"verdict":"torn_tail",`
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

// TestRecordsAreThoseOfASalvage: a stretch of a log that comes again, further on than is remembered of it, is printed once.
func TestRecordsAreThoseOfASalvage(t *testing.T) {
	var log, stretch []byte
	for base := int64(0); base < 600; base += 2 {
		b := record.NewBuilder(record.None)
		for i := range int64(2) {
			b.Append(record.Record{Timestamp: 1700000000000, Value: fmt.Appendf(nil, "value %d", base+i)})
		}
		batch, err := b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		record.SetBaseOffset(batch, base)
		log = append(log, batch...)
		if base >= 20 && base < 160 {
			stretch = append(stretch, batch...)
		}
		if base == 500 {
			log = append(log, stretch...)
		}
	}
	dir := filepath.Join(t.TempDir(), "t-0")
	path := filepath.Join(dir, "00000000000000000000.log")
	saved := filepath.Join(t.TempDir(), "saved")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(path, log, 0o644)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := execute(t, "", "--salvage", saved, dir); code != cli.ExitDamaged {
		t.Fatalf("%d %s", code, stderr)
	}
	for _, args := range []string{"--values", "--values --json", "-r --json", "-x", "--values -o 100..140", "-r --json -o 590"} {
		_, want, _ := execute(t, "", strings.Fields(args+" "+saved)...)
		for _, from := range []string{dir, path} {
			code, got, stderr := execute(t, "", strings.Fields(args+" "+from)...)
			if withoutPlace(got) != withoutPlace(want) || want == "" {
				t.Errorf("%s %s: %d %s\n%.300q, want\n%.300q", args, from, code, stderr, got, want)
			}
		}
		_, got, _ := execute(t, string(log), strings.Fields(args+" -")...)
		if withoutPlace(got) != withoutPlace(want) {
			t.Errorf("%s -: %.300q, want\n%.300q", args, got, want)
		}
	}
}

// withoutPlace leaves out what tells one file from another: its name, the topic of its directory, positions.
func withoutPlace(text string) string {
	text = regexp.MustCompile(`"topic":"[^"]*"|"position":[0-9]+|==> .* <==`).ReplaceAllString(text, "")
	return regexp.MustCompile(`(?m)^([0-9]+) [0-9]+ `).ReplaceAllString(text, "$1 ")
}

// TestOneWrongIDEndsNoRange: ids rise, so reading ends behind the range, but not at the first batch that claims to lie there.
func TestOneWrongIDEndsNoRange(t *testing.T) {
	var log []byte
	for i, base := range []int64{0, 1, 1 << 40, 3, 4, 5} {
		b := record.NewBuilder(record.None)
		b.Append(record.Record{Timestamp: 1700000000000, Value: fmt.Append(nil, i)})
		batch, err := b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		record.SetBaseOffset(batch, base)
		log = append(log, batch...)
	}
	for args, want := range map[string]string{"--values -": "0 1 3 4 5 ", "--values -o ..5 -": "0 1 3 4 ", "--values -o 3.. -": "3 4 5 "} {
		_, stdout, stderr := execute(t, string(log), strings.Fields("--delimiter \\x20 "+args)...)
		if stdout != want {
			t.Errorf("%s: %q %s, want %q", args, stdout, stderr, want)
		}
	}
	if _, stdout, _ := execute(t, string(log), "--json", "-o", "..5", "-"); strings.Count(stdout, "next_offset") != 4 {
		t.Errorf("list: %s", stdout)
	}
}

// TestSalvageTakesOneLog: batches of two logs do not go into one, and what is left out for the order of the operands is no
// success.
func TestSalvageTakesOneLog(t *testing.T) {
	first, second := segment(t, record.None), segment(t, record.None)
	target := filepath.Join(t.TempDir(), "saved")
	if code, _, stderr := execute(t, "", "--salvage", target, first, second); code != cli.ExitUsage || !strings.Contains(stderr, "one log at a time") {
		t.Errorf("two logs: %d %s", code, stderr)
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("something was written")
	}
	code, _, stderr := execute(t, "", "--salvage", target, first, first)
	if code != cli.ExitFailed || !strings.Contains(stderr, "left out 1 intact batch") {
		t.Errorf("twice: %d %s", code, stderr)
	}
}
