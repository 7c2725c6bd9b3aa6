package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Row is a line of output: an object for encoding/json, or cells in columns, which are the same for all rows of a table.
type Row interface {
	Columns() []string // headings; one that begins with > is over numbers, which stand on the right
	Cells() []string
}

// Table makes columns of rows: names on the left, numbers on the right, two blanks between. Without rows there is no
// heading either.
func Table[T Row](rows []T) []byte {
	if len(rows) == 0 {
		return nil
	}
	columns := rows[0].Columns()
	heading, number := make([]string, len(columns)), make([]bool, len(columns))
	for i, c := range columns {
		heading[i], number[i] = strings.CutPrefix(c, ">")
	}
	lines := [][]string{heading}
	for _, row := range rows {
		lines = append(lines, row.Cells())
	}
	width := make([]int, len(columns))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], Width(cell))
		}
	}
	var out []byte
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			padding := strings.Repeat(" ", width[i]-Width(cell))
			if number[i] {
				text.WriteString(padding + cell + "  ")
			} else {
				text.WriteString(cell + padding + "  ")
			}
		}
		out = append(append(out, strings.TrimRight(text.String(), " ")...), '\n')
	}
	return out
}

// Objects makes an object a line of rows.
func Objects[T any](rows []T) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// Known is a number, or a hyphen when it is not known.
func Known[T int32 | int64](n *T) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(int64(*n), 10)
}

// Cell is a name as one cell: quoted, with escapes, where it would be taken for something else, or move the cursor.
func Cell(name string) string {
	odd := func(r rune) bool {
		return r == utf8.RuneError || r == '"' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}
	if name == "" || name == "-" || strings.IndexFunc(name, odd) >= 0 {
		return strconv.Quote(name)
	}
	return name
}

// Counted is a number with a noun in the right form.
func Counted[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
