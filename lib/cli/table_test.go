package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type fruit struct {
	Name   string `json:"name"`
	Weight *int64 `json:"weight"`
}

func (fruit) Columns() []string { return []string{"FRUIT", ">WEIGHT", "NOTE"} }
func (f fruit) Cells() []string { return []string{Cell(f.Name), Known(f.Weight), ""} }

func TestTable(t *testing.T) {
	weight := int64(1_234_567)
	rows := []fruit{{"äpfel", &weight}, {"<pear>", nil}}
	want := "FRUIT    WEIGHT  NOTE\näpfel   1234567\n<pear>        -\n"
	if diff := cmp.Diff(want, string(Table(rows))); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	text, err := Objects(rows)
	if err != nil {
		t.Fatal(err)
	}
	want = `{"name":"äpfel","weight":1234567}` + "\n" + `{"name":"<pear>","weight":null}` + "\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if text := Table([]fruit{}); len(text) > 0 {
		t.Errorf("no rows: %q", text)
	}
}

func TestCell(t *testing.T) {
	for name, want := range map[string]string{
		"a.b-c_d": "a.b-c_d", "a,b": "a,b", "a/b": "a/b", "grüße": "grüße", "日本": "日本",
		"": `""`, "-": `"-"`, "a b": `"a b"`, `a"b`: `"a\"b"`, "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "a\xff": `"a\xff"`,
	} {
		if got := Cell(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestCounted(t *testing.T) {
	if got := Counted(1, "byte") + ", " + Counted(int64(2), "byte") + ", " + Counted(0, "byte"); got != "1 byte, 2 bytes, 0 bytes" {
		t.Error(got)
	}
}
