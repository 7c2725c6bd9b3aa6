package main

import (
	"unicode/utf8"

	"logkit/lib/cli"
)

// named is a name in an object. Names of groups and members are any bytes: what is not UTF-8 is in base64, under a key of
// its own, and null under the plain one.
type named struct {
	text *string
	raw  []byte
}

func name(s string) named {
	if !utf8.ValidString(s) {
		return named{raw: []byte(s)}
	}
	return named{text: &s}
}

// cell is a name that may be missing.
func cell(name *string) string {
	if name == nil {
		return "-"
	}
	return cli.Cell(*name)
}
