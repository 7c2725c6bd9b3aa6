package interop

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestJSONThroughTools: logtail --json | logcat --json copies records exactly, as a client sees that knows neither.
func TestJSONThroughTools(t *testing.T) {
	t.Parallel()
	sent := append([]Record(nil), awkward...)
	sent = append(sent, big...)
	sent = append(sent,
		Record{Time: 1_700_000_000_000, Key: []byte("null"), Value: []byte(`"null"`)},
		Record{Time: 1_700_000_000_000, Key: []byte("{}"), Value: []byte(`{"value":null,"key_base64":"AA=="}`)},
		Record{Time: 1_700_000_000_000, Key: []byte{0xff}, Value: []byte("\xed\xa0\x80 lone surrogate, \u2028\u2029\u0085\ufeff\ufffd and \x7f")},
		Record{Time: 1_700_000_000_000, Key: []byte("every byte"), Value: everyByte()},
		Record{Time: 1_700_000_000_000, Value: []byte("headers"), Headers: []Header{
			{Name: "\xff not UTF-8", Value: []byte("null")}, {Name: "escapes \"\\\x1b\n", Value: everyByte()}, {Name: "null"}, {Name: "null", Value: []byte{}},
		}},
	)
	for _, codec := range []string{"none", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			ctx, began, b := bounded(t), time.Now(), StartBroker(t)
			b.Topics(ctx, "a", "b")
			want := stored(ctx, t, Franz{}, b, "a", sent, produce(ctx, t, Franz{}, b, "a", codec, AcksAll, sent))
			pipe(ctx, t,
				exec.CommandContext(ctx, Tool(t, "logtail"), "-b", b.Addr, "--json", "-o", "earliest", "a"),
				exec.CommandContext(ctx, Tool(t, "logcat"), "-b", b.Addr, "--json", "-z", codec, "b"))
			want = stored(ctx, t, Franz{}, b, "b", want, nil)
			got, err := Franz{}.Read(ctx, b.Addr, "b", 0, Start, nil)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, Franz{}, began, got, want)
		})
	}
}

func everyByte() (all []byte) {
	for c := range 256 {
		all = append(all, byte(c))
	}
	return all
}

// pipe runs two tools with the output of one as the input of the other. Both must end with 0 and say nothing.
func pipe(ctx context.Context, t *testing.T, from, to *exec.Cmd) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said words
	from.Stdout, to.Stdin = w, r
	to.Stdout = &said
	for _, cmd := range []*exec.Cmd{from, to} {
		cmd.Stderr, cmd.SysProcAttr = &said, dieWithParent
		cmd.Env = append(os.Environ(), "TZ=UTC")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()
	w.Close()
	for _, cmd := range []*exec.Cmd{from, to} {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v", cmd.Args, err)
		}
	}
	if said.String() != "" {
		t.Errorf("the tools said: %s", said.String())
	}
}
