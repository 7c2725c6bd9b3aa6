package main

import (
	"slices"
	"strings"

	"logkit/lib/cli"
)

// leastName is what is left of a name, in columns: of two that begin alike nobody could tell which is which. On a terminal
// that is narrower than the numbers that matter, less is left.
const (
	leastName  = 12
	leastOfAll = 4
)

// sparing is a row of which some columns can be spared: their headings, the one that tells least first.
type sparing interface{ Spare() []string }

// table makes columns of rows. Where a line would be wider than a terminal, the longest names are cut: those of groups and
// members take up to 1,024 bytes each, and one alone would spread every line of the table. When that is not enough,
// columns that tell least are left out. 0 is no limit.
func table[T cli.Row](rows []T, width int) []byte {
	if width == 0 || len(rows) == 0 {
		return cli.Table(rows)
	}
	t := grid{headings: rows[0].Columns()}
	for _, row := range rows {
		t.lines = append(t.lines, row.Cells())
	}
	if s, ok := any(rows[0]).(sparing); ok && s.Spare() != nil {
		t.spare(append(t.empty(), s.Spare()...), width)
		t.narrow(width, leastName, leastOfAll)
	} else {
		t.narrow(width, leastName)
	}
	out := make([]cells, len(rows))
	for i := range t.lines {
		out[i] = cells{columns: t.headings, cells: t.lines[i]}
	}
	return cli.Table(out)
}

// grid is a table before it is written.
type grid struct {
	headings []string
	lines    [][]string
}

// measure returns how wide each column is, whether names are in it, and how wide they all are with the blanks between.
func (t *grid) measure() (wide []int, name []bool, total int) {
	wide, name = make([]int, len(t.headings)), make([]bool, len(t.headings))
	total = 2 * (len(t.headings) - 1)
	for i, c := range t.headings {
		heading, number := strings.CutPrefix(c, ">")
		name[i], wide[i] = !number, cli.Width(heading)
		for _, line := range t.lines {
			wide[i] = max(wide[i], cli.Width(line[i]))
		}
		total += wide[i]
	}
	return wide, name, total
}

// spare leaves out columns until the others fit with names cut to what is least.
func (t *grid) spare(columns []string, width int) {
	for _, c := range columns {
		wide, name, total := t.measure()
		for i := range wide {
			if name[i] {
				total -= max(0, wide[i]-leastName)
			}
		}
		if total <= width {
			return
		}
		if i := slices.IndexFunc(t.headings, func(h string) bool { return strings.TrimPrefix(h, ">") == c }); i >= 0 {
			t.headings = slices.Delete(slices.Clone(t.headings), i, i+1)
			for n, line := range t.lines {
				t.lines[n] = slices.Delete(slices.Clone(line), i, i+1)
			}
		}
	}
}

// empty are the columns in which nothing is.
func (t *grid) empty() []string {
	var headings []string
	for i, h := range t.headings {
		if !slices.ContainsFunc(t.lines, func(line []string) bool { return line[i] != "" }) {
			headings = append(headings, strings.TrimPrefix(h, ">"))
		}
	}
	return headings
}

// narrow cuts cells of names, in the widest column first, until all columns fit, or nothing is left to be cut.
func (t *grid) narrow(width int, leasts ...int) {
	limit, name, total := t.measure()
	for _, least := range leasts {
		for total > width {
			widest := -1
			for i := range limit {
				if name[i] && limit[i] > least && (widest < 0 || limit[i] > limit[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			limit[widest]--
			total--
		}
	}
	headings := slices.Clone(t.headings)
	for i, most := range limit {
		if name[i] {
			headings[i] = ellipsis(headings[i], most)
		}
		for _, line := range t.lines {
			line[i] = ellipsis(line[i], most)
		}
	}
	t.headings = headings
}

// ellipsis cuts a text to so many characters. Names of members differ at their ends.
func ellipsis(text string, most int) string {
	if cli.Width(text) <= most {
		return text
	}
	runes := []rune(text)
	tail := (most - 1) / 2
	return string(runes[:most-1-tail]) + "\u2026" + string(runes[len(runes)-tail:])
}
