package format

import "testing"

func TestTame(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":               "plain\ttext\n",
		"\x1b[31mred\x1b[0m\r\x07":    `\x1b[31mred\x1b[0m\x0d\x07`,
		"\x00\x7f":                    `\x00\x7f`,
		"\u009b31m é ü 世界 \U0001f600": `\x9b31m é ü 世界 ` + "\U0001f600",
		"\xff\xc3":                    `\xff\xc3`,
	} {
		if got := string(AppendTame(nil, []byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestChoice(t *testing.T) {
	template, err := ParseTemplate("%k=%s;")
	if err != nil {
		t.Fatal(err)
	}
	m := &Message{}
	m.Key, m.Value = []byte("k"), []byte("\x1bv")
	for want, c := range map[string]Choice{
		"\x1bv\n":                     {Delimiter: "\n"},
		"\x1bv\x00":                   {Delimiter: "\n", Null: true},
		"k:\x1bv\n":                   {Delimiter: "\n", KeyDelimiter: ":"},
		"k=\x1bv;":                    {Delimiter: "\n", Template: template},
		"\\x1bv\n":                    {Delimiter: "\n", Terminal: true},
		"k=\\x1bv;":                   {Template: template, Terminal: true},
		string(JSON{}.Append(nil, m)): {JSON: true, Template: template, Terminal: true},
	} {
		if got := string(c.Printer().Append(nil, m)); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
