package clitest

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// manual is what a page in mdoc(7) says about a tool.
type manual struct {
	title, name string
	flags       []manualFlag
	variables   []string
	exits       []int
	commands    []string
}

type manualFlag struct {
	names []string
	body  string // of the item, without macros
}

var (
	exitItem    = regexp.MustCompile(`^\.It(?: (?:Li|Cm|Dv|Sy))? (\d+)`)
	commandItem = regexp.MustCompile(`^\.(?:It|Ss) .*?\b(?:Cm|Ic) ([a-z-]+)`)
	plainHead   = regexp.MustCompile(`^\.Ss ([a-z-]+)`)
)

// parseManual reads the macros that carry facts: Dt, Nm, It Fl, It Ev, the items of EXIT STATUS, and the commands, which
// are items or subsections named with Cm or Ic.
func parseManual(text string) manual {
	var m manual
	section := ""
	inFlag := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		macro, rest, _ := strings.Cut(strings.TrimPrefix(line, "."), " ")
		if !strings.HasPrefix(line, ".") {
			macro = ""
		}
		switch macro {
		case "Dt":
			m.title = rest
		case "Nm":
			if m.name == "" {
				m.name = rest
			}
		case "Sh":
			section, inFlag = rest, false
		case "Ss", "El":
			inFlag = false
		case "It":
			names := flagNames(rest)
			inFlag = names != nil
			if inFlag {
				m.flags = append(m.flags, manualFlag{names: names})
			}
			if variable, ok := strings.CutPrefix(rest, "Ev "); ok {
				m.variables = append(m.variables, strings.Fields(variable)[0])
			}
			if match := exitItem.FindStringSubmatch(line); match != nil && section == "EXIT STATUS" {
				code, _ := strconv.Atoi(match[1])
				m.exits = append(m.exits, code)
			}
		}
		for _, form := range []*regexp.Regexp{commandItem, plainHead} {
			if match := form.FindStringSubmatch(line); match != nil {
				m.commands = append(m.commands, match[1])
			}
		}
		if inFlag && macro != "It" {
			m.flags[len(m.flags)-1].body += plain(line) + "\n"
		}
	}
	return m
}

// flagNames returns the names on an item line, such as: Fl n , Fl -lines Ar N.
func flagNames(item string) []string {
	if !strings.HasPrefix(item, "Fl ") {
		return nil
	}
	var names []string
	words := strings.Fields(item)
	for i, word := range words[:len(words)-1] {
		if word == "Fl" {
			names = append(names, strings.TrimPrefix(strings.TrimRight(words[i+1], ","), "-"))
		}
	}
	return names
}

var (
	inlineMacro = regexp.MustCompile(`(^|\s)(?:Ar|Cm|Dv|Em|Ev|Fl|Li|Nm|No|Pa|Ql|Sy)\s`)
	escapes     = strings.NewReplacer(`\e`, `\`, `\-`, `-`, `\&`, ``, `\(bs`, `\`)
)

// plain is roughly what a line renders to.
func plain(line string) string {
	line, macro := strings.CutPrefix(line, ".")
	if rest, ok := strings.CutPrefix(line, "Pq "); ok && macro {
		line = "(" + rest + ")"
		line = strings.Replace(line, " .)", ").", 1)
	}
	line = strings.ReplaceAll(line, "(", "( ")
	for inlineMacro.MatchString(line) {
		line = inlineMacro.ReplaceAllString(line, "$1")
	}
	line = strings.ReplaceAll(strings.ReplaceAll(line, "( ", "("), " Ns ", "")
	return escapes.Replace(line)
}

// lint is mandoc's own opinion.
func lint(t *testing.T, page string) {
	t.Helper()
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skipf("SKIPPED: mandoc is not installed: %s is not linted", page)
	}
	if out, err := exec.Command("mandoc", "-T", "lint", "-W", "warning", page).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("mandoc (%v):\n%s", err, out)
	}
}
