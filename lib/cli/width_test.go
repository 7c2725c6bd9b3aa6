package cli

import "testing"

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "caf\u00e9": 4, "cafe\u0301": 4, "\u65e5\u672c\u8a9e": 6, "\u30ab\u30bf": 4, "\uff76\uff80": 2, "\ud55c\uad6d": 4,
		"\U0001f600": 2, "\u2026": 1, "\u0440\u0443\u0441": 3, "a\u200bb": 2, "\U00020000": 2, "\u303f": 1, "\ufe0e": 0,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
	for i := 1; i < len(wide); i++ {
		if wide[i-1][1] >= wide[i][0] || wide[i][0] > wide[i][1] {
			t.Errorf("%#x is out of order", wide[i])
		}
	}
}

func TestFit(t *testing.T) {
	for _, row := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"\u65e5\u672c", 3, "\u65e5"}, {"\u65e5\u672c", 4, "\u65e5\u672c"},
		{"e\u0301x", 1, "e\u0301"}, {"", 0, ""},
	} {
		if got := Fit(row.text, row.columns); got != row.want {
			t.Errorf("%q in %d columns: %q, want %q", row.text, row.columns, got, row.want)
		}
	}
}

func TestFitEnd(t *testing.T) {
	for _, row := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "bc"}, {"abc", 0, ""}, {"\u65e5\u672c", 3, "\u672c"}, {"\u65e5\u672c", 4, "\u65e5\u672c"},
		{"xe\u0301", 1, "e\u0301"}, {"xe\u0301", 0, ""}, {"", 0, ""}, {"a\xff", 1, "\xff"},
	} {
		if got := FitEnd(row.text, row.columns); got != row.want {
			t.Errorf("%q in %d columns: %q, want %q", row.text, row.columns, got, row.want)
		}
	}
}
