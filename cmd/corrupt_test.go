package cmd

import (
	"encoding/hex"
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// corruptCommand writes bytes over those of a file: corrupt FILE OFFSET HEX. An OFFSET below zero counts from the end.
func corruptCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: corrupt FILE OFFSET HEX")
	}
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	data, err := hex.DecodeString(args[2])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	if offset < 0 {
		info, err := f.Stat()
		ts.Check(err)
		offset += info.Size()
	}
	_, err = f.WriteAt(data, offset)
	ts.Check(err)
}
