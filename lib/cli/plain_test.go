package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPlainErrors(t *testing.T) {
	_, stat := os.Stat("none")
	_, open := os.Open("none")
	_, links := filepath.EvalSymlinks("none")
	var v map[string]int64
	kind := json.Unmarshal([]byte(`{"a":"x"}`), &v)
	var s struct{ A struct{ B int64 } }
	field := json.Unmarshal([]byte(`{"A":{"B":true}}`), &s)
	for _, row := range []struct {
		err  error
		want string
	}{
		{errors.New("x"), "x"},
		{stat, "none: no such file or directory"},
		{open, "none: no such file or directory"},
		{links, "none: no such file or directory"},
		{fmt.Errorf("none: %w", open), "none: no such file or directory"},
		{fmt.Errorf("--flag: %w", open), "--flag: none: no such file or directory"},
		{fmt.Errorf("--flag: %w: %w", errors.New("y"), stat), "--flag: y: none: no such file or directory"},
		{WithHint(WithCode(3, open), "z"), "none: no such file or directory"},
		{fmt.Errorf("none: %w", fs.ErrNotExist), "none: no such file or directory"},
		{&fs.PathError{Op: "open", Path: "f", Err: syscall.EACCES}, "f: permission denied"},
		{fmt.Errorf("f: %w", &fs.PathError{Op: "mkdir", Path: "f", Err: syscall.EEXIST}), "f: mkdir f: file exists"},
		{&fs.PathError{Op: "read", Path: "f", Err: syscall.EIO}, "read f: input/output error"},
		{fmt.Errorf("f: %w", kind), "f: JSON of another form: string at byte 8"},
		{fmt.Errorf("f: %w", field), "f: JSON of another form: bool at byte 14, for A.B"},
		{fmt.Errorf("f: %w", json.Unmarshal([]byte(`7`), &v)), "f: JSON of another form: number at byte 1"},
	} {
		if got := plain(row.err); got != row.want {
			t.Errorf("%v: %q, want %q", row.err, got, row.want)
		}
	}
	if got := fmt.Sprintf("%s %v %d", plainly([]any{"a", stat, 3})...); got != "a none: no such file or directory 3" {
		t.Error(got)
	}
}
