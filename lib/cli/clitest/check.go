package clitest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"logkit/lib/cli"
)

// shownDefault is how a page tells the default of a flag: (default 10), or .Pq default 10. Nothing else is read as one.
var shownDefault = regexp.MustCompile(`\(default ([^()]*(?:\([^()]*\))?[^()]*)\)`)

// checkManual compares a page with the tool, both ways:
//
//   - every flag is an item that begins with Fl, with all its names and no others: .It Fl n , Fl -lines Ar N
//   - its default is in the item's text as (default X) or .Pq default X, and nowhere is one that the flag does not have
//   - every variable is an item that begins with Ev; for a tool with an EnvPrefix one item .It Ev PREFIX_* stands for all
//   - the numbers of the items in EXIT STATUS are those of the table
//   - every command is an item, or a subsection, named with Cm or Ic
func checkManual(tool *cli.Tool, m manual) []string {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if m.name != tool.Name {
		complain("first .Nm is %q, want %q", m.name, tool.Name)
	}
	if want := strings.ToUpper(tool.Name); !strings.HasPrefix(m.title, want+" ") {
		complain(".Dt is %q, want %s", m.title, want)
	}
	docs := tool.Describe()
	checkFlags(docs, m, complain)
	checkVariables(tool, docs, m, complain)
	checkExits(docs, m, complain)
	for _, doc := range docs[1:] {
		if !slices.Contains(m.commands, doc.Name) {
			complain("command %s has no item or subsection (.It Cm %s)", doc.Name, doc.Name)
		}
	}
	return problems
}

func key(names []string) string {
	var dashed []string
	for _, name := range names {
		if len(name) == 1 {
			dashed = append(dashed, "-"+name)
		} else {
			dashed = append(dashed, "--"+name)
		}
	}
	slices.Sort(dashed)
	return strings.Join(dashed, ", ")
}

func checkFlags(docs []cli.CommandDoc, m manual, complain func(string, ...any)) {
	shown := map[string][]manualFlag{}
	for _, f := range m.flags {
		shown[key(f.names)] = append(shown[key(f.names)], f)
	}
	known := map[string]bool{}
	for _, doc := range docs {
		for _, f := range doc.Flags {
			k := key(f.Names)
			known[k] = true
			if shown[k] == nil {
				complain("flag %s has no item with exactly these names (.It Fl ...)", k)
			}
			if !slices.ContainsFunc(shown[k], func(item manualFlag) bool { return sameDefault(item.body, f.Default) }) && shown[k] != nil {
				complain("flag %s: the item says default %q, the flag has %q", k, defaults(shown[k][0].body), f.Default)
			}
		}
	}
	for k := range shown {
		if !known[k] {
			complain("the item %s is not a flag with exactly these names", k)
		}
	}
}

func defaults(body string) []string {
	var found []string
	for _, match := range shownDefault.FindAllStringSubmatch(body, -1) {
		found = append(found, strings.TrimSpace(match[1]))
	}
	return found
}

func sameDefault(body, want string) bool {
	found := defaults(body)
	if want == "" {
		return len(found) == 0
	}
	return len(found) == 1 && found[0] == want
}

func checkVariables(tool *cli.Tool, docs []cli.CommandDoc, m manual, complain func(string, ...any)) {
	want := map[string]bool{}
	for _, variable := range tool.Variables {
		want[variable] = true
	}
	if tool.EnvPrefix != "" {
		want[tool.EnvPrefix+"_*"] = true
	} else {
		for _, doc := range docs {
			for _, f := range doc.Flags {
				for _, variable := range f.Env {
					want[variable] = true
				}
			}
		}
	}
	for variable := range want {
		if !slices.Contains(m.variables, variable) {
			complain("variable %s has no item (.It Ev %s)", variable, variable)
		}
	}
	for _, variable := range m.variables {
		if !want[variable] {
			complain("the variable %s is read by no flag, and is not in Variables", variable)
		}
	}
}

func checkExits(docs []cli.CommandDoc, m manual, complain func(string, ...any)) {
	want := map[int]bool{}
	for _, doc := range docs {
		for _, exit := range doc.Exits {
			want[exit.Code] = true
			if !slices.Contains(m.exits, exit.Code) {
				complain("EXIT STATUS: %d (%s) has no item", exit.Code, exit.Meaning)
			}
		}
	}
	for _, code := range m.exits {
		if !want[code] {
			complain("EXIT STATUS: %d is not in the table", code)
		}
	}
}
