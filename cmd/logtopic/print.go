package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// column is a heading, and whether what stands below it are numbers.
type column struct {
	name   string
	number bool
}

// printable is a line of output: an object, or cells in columns.
type printable interface {
	columns() []column
	cells() []string
}

// print writes lines to standard output.
func print[T printable](s *session, lines []T) error {
	text, err := table(lines, s.json)
	if err != nil {
		return err
	}
	return written(s.env.Stdout.Write(text))
}

// table makes objects of lines, or columns: names on the left, numbers on the right, two blanks between. Without lines
// there is no heading either.
func table[T printable](lines []T, asJSON bool) ([]byte, error) {
	if asJSON {
		return objects(lines)
	}
	if len(lines) == 0 {
		return nil, nil
	}
	columns := lines[0].columns()
	heading := make([]string, len(columns))
	for i, c := range columns {
		heading[i] = c.name
	}
	cells := [][]string{heading}
	for _, line := range lines {
		cells = append(cells, line.cells())
	}
	width := make([]int, len(columns))
	for _, line := range cells {
		for i, cell := range line {
			width[i] = max(width[i], len(cell))
		}
	}
	var out []byte
	for _, line := range cells {
		var text strings.Builder
		for i, cell := range line {
			padding := width[i]
			if !columns[i].number {
				padding = -padding
			}
			fmt.Fprintf(&text, "%*s  ", padding, cell)
		}
		out = append(append(out, strings.TrimRight(text.String(), " ")...), '\n')
	}
	return out, nil
}

func objects[T any](lines []T) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// known is a number, or a hyphen when it is not known.
func known[T int32 | int64](n *T) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// configText is what is set for a topic, in one cell.
func configText(config map[string]string) string {
	if len(config) == 0 {
		return "-"
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(config)) {
		all = append(all, key+"="+config[key])
	}
	return strings.Join(all, ",")
}

// counted is a number with a noun in the right form.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
