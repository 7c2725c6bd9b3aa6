package main

import (
	"maps"
	"slices"
	"strings"

	"logkit/lib/cli"
)

// print writes lines to standard output.
func print[T cli.Row](s *session, lines []T) error {
	text, err := table(lines, s.json)
	if err != nil {
		return err
	}
	return written(s.env.Stdout.Write(text))
}

func table[T cli.Row](lines []T, asJSON bool) ([]byte, error) {
	if asJSON {
		return cli.Objects(lines)
	}
	return cli.Table(lines), nil
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
