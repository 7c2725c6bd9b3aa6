package cmd

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	reference  = regexp.MustCompile(`(?m)^\.Xr (\S+) (\d)`)
	strayComma = regexp.MustCompile(`\S +[,;](\s|$)`)
)

// TestSeeAlso wants the section SEE ALSO of each manual page to name every page of ours that the text speaks of, in the
// usual order, by section and then by name, and no page that is not there.
func TestSeeAlso(t *testing.T) {
	ours := map[string]bool{}
	for _, file := range matches(t, "../man/*") {
		name, section, _ := strings.Cut(filepath.Base(file), ".")
		ours[section+" "+name] = true
	}
	for _, file := range matches(t, "../man/*") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body, also, found := strings.Cut(string(text), "\n.Sh SEE ALSO\n")
		if !found {
			t.Errorf("%s: no SEE ALSO", file)
		}
		name, section, _ := strings.Cut(filepath.Base(file), ".")
		self := section + " " + name
		var listed []string
		for _, x := range reference.FindAllStringSubmatch(also, -1) {
			listed = append(listed, x[2]+" "+x[1])
			if strings.HasPrefix(x[1], "log") && x[1] != "logrotate" && !ours[x[2]+" "+x[1]] {
				t.Errorf("%s: there is no page %s(%s)", file, x[1], x[2])
			}
		}
		if !slices.IsSortedFunc(listed, cmp.Compare[string]) || len(slices.Compact(listed)) != len(listed) {
			t.Errorf("%s: SEE ALSO is not in order: %q", file, listed)
		}
		for _, x := range reference.FindAllStringSubmatch(body, -1) {
			spoken := x[2] + " " + x[1]
			if strings.HasPrefix(x[1], "log") && x[1] != "logrotate" && !ours[spoken] {
				t.Errorf("%s: there is no page %s(%s)", file, x[1], x[2])
			}
			if ours[spoken] && spoken != self && !slices.Contains(listed, spoken) {
				t.Errorf("%s: speaks of %s(%s), which is not in SEE ALSO", file, x[1], x[2])
			}
		}
	}
}

// TestPagesShow wants no blank before a comma in what readers see, which a macro for a list leaves there easily, outside
// of command lines.
func TestPagesShow(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("SKIPPED: mandoc is not installed (testdata/debian/install): the manual pages are not looked at")
	}
	for _, file := range matches(t, "../man/*") {
		for _, line := range shown(t, file, 0) {
			if strayComma.MatchString(line) {
				t.Errorf("%s: a blank before a comma: %s", file, line)
			}
		}
	}
}
