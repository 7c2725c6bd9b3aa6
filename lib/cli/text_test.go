package cli

import (
	"slices"
	"testing"

	ucli "github.com/urfave/cli/v2"
)

func TestBool(t *testing.T) {
	checkValues(t, func() ucli.Generic { return new(Bool) }, []valueRow{
		{"true", "true"}, {"false", "false"}, {"YES", "true"}, {"no", "false"}, {"on", "true"}, {"off", "false"}, {"1", "true"}, {"0", "false"},
		{"", ""}, {"t", ""}, {"2", ""}, {"maybe", ""},
	})
}

func TestEnum(t *testing.T) {
	checkValues(t, func() ucli.Generic { s := "none"; return Enum(&s, "none", "zstd") }, []valueRow{
		{"zstd", "zstd"}, {"none", "none"}, {"ZSTD", ""}, {"", ""}, {"zst", ""},
	})
}

func TestEscaped(t *testing.T) {
	rows := []struct{ in, want string }{
		{``, ""}, {`abc`, "abc"}, {`\n`, "\n"}, {`\t\r\0`, "\t\r\x00"}, {`\\n`, `\n`}, {`\x41\xfF`, "A\xff"}, {`a\x0ab`, "a\nb"}, {"é", "é"}, {`\01`, "\x001"},
	}
	for _, row := range rows {
		if got, err := Unescape(row.in); err != nil || got != row.want {
			t.Errorf("%q: got %q (%v), want %q", row.in, got, err, row.want)
		}
	}
	for _, in := range []string{`\`, `a\`, `\x`, `\x4`, `\xg0`, `\x+1`, `\a`, `\N`, `\u0041`, `\\\`} {
		if got, err := Unescape(in); err == nil {
			t.Errorf("%q: accepted as %q", in, got)
		}
	}
}

// FuzzUnescape: no panic; no longer than the input; any bytes survive String and Set.
func FuzzUnescape(f *testing.F) {
	for _, seed := range []string{"", `\n`, `\x00`, `\`, `\xf`, "\x00\xff\\", `\\x41`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if out, err := Unescape(in); err == nil && len(out) > len(in) {
			t.Fatalf("%q became %q", in, out)
		}
		e := Escaped(in)
		if again, err := Unescape(e.String()); err != nil || again != in {
			t.Fatalf("%q is written %s, which is %q (%v)", in, &e, again, err)
		}
	})
}

func TestRepeatedReplacesTheDefault(t *testing.T) {
	list := []string{"default"}
	kept := list
	v := Strings(&list)
	if v.String() != "default" {
		t.Errorf("default %q", v)
	}
	for _, s := range []string{"a,b", "", " c "} {
		if err := v.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a,b", "", " c "}; !slices.Equal(list, want) || kept[0] != "default" {
		t.Errorf("got %q, want %q; the default became %q", list, want, kept)
	}
}
