package main

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseResumeRefuses(t *testing.T) {
	for _, text := range []string{
		``, `{`, `[]`, `{} {}`, `{"other":1}`, `{"topic":"t"}`, `null {}`, `{"topic":1}`, `{"inputs":[{"position":-1}]}`, `{"inputs":[{"position":1,"size":-2}]}`,
		`{"inputs":[{"position":9223372036854775807,"unfinished":1}]}`, `{"inputs":[{"crc32c":4294967296}]}`, `{"inputs":[{"size":1.5}]}`,
		`{"inputs":[{"position":9,"sums":[{"position":0}]}]}`, `{"inputs":[{"position":9,"sums":[{"position":10}]}]}`, `{"inputs":[{"position":9,"sums":[{"position":5},{"position":5}]}]}`,
	} {
		if r, err := parseResume([]byte(text)); err == nil {
			t.Errorf("%s: accepted as %+v", text, r)
		}
	}
}

// FuzzResume: no panic; what is accepted is written as something that reads as the same.
func FuzzResume(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"inputs":[{"position":9,"sums":[{"position":4,"crc32c":1},{"position":9,"crc32c":2}]}],"began":1}`, `{"topic":"t","delimiter":"\\n","inputs":null}`,
		`{"topic":"t","delimiter":"\\n","inputs":[{"name":"a","device":1,"inode":2,"size":3,"position":2,"messages":1,"unfinished":1,"crc32c":7}]}`,
		`{"inputs":[{"position":-1}]}`, `{"inputs":[{"name":"\ud800"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseResume(text)
		if err != nil {
			return
		}
		again, err := r.format()
		if err != nil {
			t.Fatal(err)
		}
		same, err := parseResume(again)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", text, again, err)
		}
		if diff := cmp.Diff(r, same, cmp.AllowUnexported(place{})); diff != "" && len(r.Inputs) > 0 {
			t.Fatal(diff)
		}
	})
}

// Where to go on, of what the resume file says and of what is there. A file is given as its contents, and stands in the
// resume file with what was sent of it.
func TestMatch(t *testing.T) {
	type sent struct {
		name              string // of the file that is there, or of one that is not
		whole, unfinished string // what was sent of it: messages with their delimiters, and what was behind them
	}
	for _, row := range []struct {
		name  string
		sent  []sent
		there map[string]string
		files []string
		want  []int64 // positions
		err   string
	}{
		{"nothing known", nil, map[string]string{"a": "1\n"}, []string{"a"}, []int64{0}, ""},
		{"nothing new", []sent{{"a", "1\n2\n", ""}}, map[string]string{"a": "1\n2\n"}, []string{"a"}, []int64{4}, ""},
		{"grown", []sent{{"a", "1\n", ""}}, map[string]string{"a": "1\n2\n"}, []string{"a"}, []int64{2}, ""},
		{"a file more", []sent{{"a", "1\n", ""}}, map[string]string{"a": "1\n", "b": "2\n"}, []string{"b", "a"}, []int64{0, 2}, ""},
		{"another order", []sent{{"a", "1\n", ""}, {"b", "2\nx\n", ""}}, map[string]string{"a": "1\n", "b": "2\nx\n"}, []string{"b", "a"}, []int64{4, 2}, ""},
		{"not there yet", nil, map[string]string{}, []string{"a"}, []int64{0}, ""},
		{"one less, that was done", []sent{{"a", "1\n", ""}, {"b", "2\n", ""}}, map[string]string{"a": "1\n", "b": "2\n"}, []string{"b"}, []int64{2}, ""},
		{"one less, not done", []sent{{"a", "1\n", ""}, {"b", "2\n", ""}}, map[string]string{"a": "1\n2\n", "b": "2\n"}, []string{"b"}, nil,
			"2 of 4 bytes of a were sent, which is not given now"},
		{"the last one less", []sent{{"a", "1\n", ""}, {"b", "2\n", ""}}, map[string]string{"a": "1\n", "b": "2\n"}, []string{"a"}, nil,
			"2 of 2 bytes of b were sent, which is not given now"},
		{"the last one less, not begun", []sent{{"a", "1\n", ""}, {"b", "", ""}}, map[string]string{"a": "1\n", "b": "2\n"}, []string{"a"}, []int64{2}, ""},
		{"cut", []sent{{"a", "1\n2\n", ""}}, map[string]string{"a": "1\n"}, []string{"a"}, nil, "a: it was cut to 2 bytes: the first 4 of 4 were sent"},
		{"cut behind the prefix", []sent{{"a", "1\n", "h"}}, map[string]string{"a": "1\n"}, []string{"a"}, nil, "a: it was cut to 2 bytes: the first 3 of 3 were sent"},
		{"another last message", []sent{{"a", "1\n3\n", ""}}, map[string]string{"a": "1\n2\n"}, []string{"a"}, nil,
			"a: it was written anew: it does not begin with the 4 bytes that were sent"},
		{"no delimiter behind it", []sent{{"a", "1\n", ""}}, map[string]string{"a": "12\n"}, []string{"a"}, nil,
			"a: it was written anew: it does not begin with the 2 bytes that were sent"},
		{"an inode used again", []sent{{"a", "8\n9\n", ""}, {"b", "2\n", ""}}, map[string]string{"a": "1\n", "b": "2\n"}, []string{"b", "a"}, []int64{2, 0}, ""},
		{"standard input", []sent{{"-", "x\ny\n", ""}}, nil, nil, []int64{4}, ""},
		{"standard input no more", []sent{{"-", "x\ny\n", ""}}, map[string]string{"a": ""}, []string{"a"}, nil, "stands at 2 messages of standard input, which is not read now"},
		{"a file no more", []sent{{"a", "1\n2\n", ""}}, map[string]string{}, []string{"a"}, nil, "a: no such file or directory: 4 of 4 bytes were sent"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for name, text := range row.there {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r := &resume{Topic: "t", Delimiter: `\n`}
			for _, s := range row.sent {
				p, err := identify(s.name)
				if err != nil {
					p.Inode, p.Size = 1<<40, int64(len(s.whole))
				}
				p.Position, p.CRC = int64(len(s.whole)), crc32.Checksum([]byte(s.whole), castagnoli)
				p.Unfinished, p.UnfinishedCRC = int64(len(s.unfinished)), crc32.Checksum([]byte(s.whole+s.unfinished), castagnoli)
				p.Messages = int64(strings.Count(s.whole, "\n"))
				r.Inputs = append(r.Inputs, p)
			}
			for i := range r.Inputs { // done is as it was when the file was sent
				if p := &r.Inputs[i]; p.Size < p.Position {
					p.Size = p.Position
				}
			}
			places, err := r.match(t.Context(), "pos", row.files, []byte("\n"))
			if row.err != "" {
				if err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "pos: "), row.err) {
					t.Errorf("%v, want %s", err, row.err)
				}
				return
			}
			var got []int64
			for _, p := range places {
				got = append(got, p.Position)
			}
			if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// A file that is moved aside is found by the hint.
func TestRenamedIsFound(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "log")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := identify(name)
	if err == nil {
		err = os.Rename(name, name+".7")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := p.renamed(); got != name+".7" {
		t.Errorf("%q", got)
	}
}
