package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"logkit/lib/cli"
)

// leastName is what is left of a name, in columns: of two that begin alike nobody could tell which is which.
const leastName = 12

// table makes columns of rows. Where a line would be wider than a terminal, the longest names are cut: those of groups and
// members take up to 1,024 bytes each, and one alone would spread every line of the table. 0 is no limit.
func table[T cli.Row](rows []T, width int) []byte {
	if width == 0 || len(rows) == 0 {
		return cli.Table(rows)
	}
	lines := make([][]string, len(rows))
	for i, row := range rows {
		lines[i] = row.Cells()
	}
	columns := rows[0].Columns()
	narrow(columns, lines, width)
	out := make([]cells, len(rows))
	for i := range lines {
		out[i] = cells{columns, lines[i]}
	}
	return cli.Table(out)
}

// narrow cuts cells of names, in the widest column first, until all columns fit, or nothing is left to be cut.
func narrow(columns []string, lines [][]string, width int) {
	wide := make([]int, len(columns))
	name := make([]bool, len(columns))
	total := 2 * (len(columns) - 1)
	for i, c := range columns {
		heading, number := strings.CutPrefix(c, ">")
		name[i], wide[i] = !number, utf8.RuneCountInString(heading)
		for _, line := range lines {
			wide[i] = max(wide[i], utf8.RuneCountInString(line[i]))
		}
		total += wide[i]
	}
	limit := slices.Clone(wide)
	for total > width {
		widest := -1
		for i := range limit {
			if name[i] && limit[i] > leastName && (widest < 0 || limit[i] > limit[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		limit[widest]--
		total--
	}
	for _, line := range lines {
		for i, cell := range line {
			line[i] = ellipsis(cell, limit[i])
		}
	}
}

// ellipsis cuts a text to so many characters.
func ellipsis(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "\u2026"
}
