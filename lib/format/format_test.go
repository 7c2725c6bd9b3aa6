package format

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"logkit/lib/record"
)

func message(topic string, partition int32, r record.Record) *Message {
	return &Message{Topic: topic, Partition: partition, Record: r}
}

var full = message("clicks", 3, record.Record{
	Offset: 42, Timestamp: 1_700_000_000_000, Key: []byte("k\xff"), Value: []byte("va\nlue"),
	Headers: []record.Field{{Name: "a", Value: []byte("1")}, {Name: "a", Value: nil}, {Name: "", Value: []byte{}}},
})

var nulls = message("t", 0, record.Record{Offset: math.MaxInt64, Timestamp: -1})

var empties = message("t", 0, record.Record{Key: []byte{}, Value: []byte{}, Headers: []record.Field{}})

func TestRaw(t *testing.T) {
	tests := []struct {
		p    Raw
		m    *Message
		want string
	}{
		{Raw{}, full, "va\nlue"},
		{Raw{Delimiter: []byte("\n")}, full, "va\nlue\n"},
		{Raw{Delimiter: []byte("\r\n--\r\n")}, empties, "\r\n--\r\n"},
		{Raw{Delimiter: []byte{0}}, nulls, "\x00"},
		{Raw{KeyDelimiter: []byte("\t"), Delimiter: []byte("\n")}, full, "k\xff\tva\nlue\n"},
		{Raw{KeyDelimiter: []byte("=>"), Delimiter: []byte("\n")}, nulls, "=>\n"},
		{Raw{KeyDelimiter: []byte{}, Delimiter: []byte("\n")}, full, "k\xffva\nlue\n"},
	}
	for _, tt := range tests {
		if got := string(tt.p.Append([]byte("x"), tt.m)); got != "x"+tt.want {
			t.Errorf("%q: %q, want %q behind x", tt.p, got, tt.want)
		}
	}
}

func TestTemplate(t *testing.T) {
	tests := []struct {
		text string
		m    *Message
		want string
	}{
		{"", full, ""},
		{"plain é", full, "plain é"},
		{"%t", full, "clicks"},
		{"%p", full, "3"},
		{"%o", full, "42"},
		{"%o", nulls, "9223372036854775807"},
		{"%T", full, "1700000000000"},
		{"%T", nulls, "-1"},
		{"%k", full, "k\xff"},
		{"%K", full, "2"},
		{"%s", full, "va\nlue"},
		{"%S", full, "6"},
		{"%R%s", full, "\x00\x00\x00\x06va\nlue"},
		{"%h", full, "a=1,a=NULL,="},
		{"%h", empties, ""},
		{"<%k|%s>", nulls, "<|>"},
		{"%K %S %R", nulls, "-1 -1 \xff\xff\xff\xff"},
		{"%K %S", empties, "0 0"},
		{"100%%", full, "100%"},
		{"%%s", full, "%s"},
		{`\n\t\r\0\\\x41\xff`, full, "\n\t\r\x00\\A\xff"},
		{`%t\t%p\n`, full, "clicks\t3\n"},
		// The example of kcat's help.
		{`Topic %t [%p] at offset %o: key %k: %s\n`, full, "Topic clicks [3] at offset 42: key k\xff: va\nlue\n"},
	}
	for _, tt := range tests {
		p, err := ParseTemplate(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := string(p.Append([]byte("x"), tt.m)); got != "x"+tt.want {
			t.Errorf("%q: %q, want %q behind x", tt.text, got, tt.want)
		}
	}
}

func TestTemplateRefuses(t *testing.T) {
	tests := []struct {
		text, want string
	}{
		{"%", "position 1: lone % at the end, known letters are tpokKsShTR%"},
		{"%t %x", "position 4: unknown letter %x, known are tpokKsShTR%"},
		{"%é", "position 1: unknown letter %é, known are tpokKsShTR%"},
		{"% ", "position 1: unknown letter % , known are tpokKsShTR%"},
		{"%\n", `position 1: unknown letter %"\n", known are tpokKsShTR%`},
		{"%\xff", `position 1: unknown letter %"\xff", known are tpokKsShTR%`},
		{`a\`, `position 2: lone \ at the end, known escapes are \n \t \r \0 \\ \xHH`},
		{`%%\q`, `position 3: unknown escape \q, known are \n \t \r \0 \\ \xHH`},
		{`\x4`, `position 1: \x without two hexadecimal digits`},
		{`\x`, `position 1: \x without two hexadecimal digits`},
		{`\xg0`, `position 1: \x without two hexadecimal digits`},
		{`\x+1`, `position 1: \x without two hexadecimal digits`},
	}
	for _, tt := range tests {
		_, err := ParseTemplate(tt.text)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
		if pe := (*ParseError)(nil); !errors.As(err, &pe) {
			t.Errorf("%q: a %T", tt.text, err)
		}
	}
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "%": "%", `\n`: "\n", `\r\n--\r\n`: "\r\n--\r\n", `\0`: "\x00", `\x00\xfF`: "\x00\xff", `\\n`: `\n`, "\xff": "\xff",
	} {
		got, err := Unescape(text)
		if string(got) != want || got == nil || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`\`, `\a`, `\x0`, `\N`, `a\`} {
		if got, err := Unescape(text); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	template, err := ParseTemplate(`%t %p %o %k %K %s %S %h %T\n`)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 0, 1000)
	for _, p := range []Printer{Raw{Delimiter: []byte("\n")}, template, JSON{}} {
		if got := testing.AllocsPerRun(10, func() { p.Append(dst, full) }); got > 0 {
			t.Errorf("%T: %v allocations", p, got)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	template, err := ParseTemplate(`%t %p %o %T %s\n`)
	if err != nil {
		b.Fatal(err)
	}
	m := message("clicks", 3, record.Record{
		Offset: 42, Timestamp: 1_700_000_000_000,
		Value: []byte("2026-01-02 03:04:05 status installed libexample-dev:amd64 1.2.0-1 and the rest of a common line"),
	})
	for _, p := range []Printer{Raw{Delimiter: []byte("\n")}, template, JSON{}} {
		b.Run(fmt.Sprintf("%T", p), func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 1000)
			b.SetBytes(int64(len(p.Append(nil, m))))
			for b.Loop() {
				dst = p.Append(dst[:0], m)
			}
		})
	}
	b.Run("ParseJSON", func(b *testing.B) {
		b.ReportAllocs()
		line := AppendJSON(nil, m)
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			var m Message
			if err := ParseJSON(line, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ExampleTemplate() {
	p, err := ParseTemplate(`%t[%p]@%o %s\n`)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := Message{Topic: "clicks", Partition: 3, Record: record.Record{Offset: 42, Value: []byte("hello")}}
	fmt.Print(string(p.Append(nil, &m)))
	// Output: clicks[3]@42 hello
}
