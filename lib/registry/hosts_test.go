package registry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHosts: a name that nobody knows does not matter while there is another one.
func TestHosts(t *testing.T) {
	h := newHosts(slog.New(slog.DiscardHandler))
	if err := h.Init([]string{"no-such-host.invalid:2181", "127.0.0.1:2181"}); err != nil || h.Len() != 1 {
		t.Errorf("%d servers, %v; want the one that is known", h.Len(), err)
	}
	if err := newHosts(slog.New(slog.DiscardHandler)).Init([]string{"no-such-host.invalid:2181"}); err == nil {
		t.Error("no error when nobody is known")
	}
}

// TestHostsAreLookedUpAgain: a server that comes back under another address is found there (ZOOKEEPER-2184), once those
// that were known have been tried; and the client hears of each round.
func TestHostsAreLookedUpAgain(t *testing.T) {
	unknown := errors.New("nobody knows")
	names := map[string][]string{"a": {"10.0.0.1"}, "b": {"10.0.0.2", "10.0.0.3"}}
	var log bytes.Buffer
	h := newHosts(slog.New(slog.NewTextHandler(&log, nil)))
	h.lookup = func(_ context.Context, host string) ([]string, error) {
		if found := names[host]; found != nil {
			return found, nil
		}
		return nil, unknown
	}
	if err := h.Init([]string{"a:2181", "b:2182", "c:2183"}); err != nil {
		t.Fatal(err)
	}
	for range h.Len() {
		h.Next() // as they were at first
	}
	for _, test := range []struct {
		name  string
		now   map[string][]string
		want  []string
		lines int // logged so far
	}{
		{"as before", names, []string{"10.0.0.1:2181", "10.0.0.2:2182", "10.0.0.3:2182"}, 1},
		{"another address", map[string][]string{"a": {"10.0.0.9"}, "b": {"10.0.0.2"}}, []string{"10.0.0.2:2182", "10.0.0.9:2181"}, 1},
		{"nobody answers", nil, []string{"10.0.0.2:2182", "10.0.0.9:2181"}, 1},
		{"one more", map[string][]string{"c": {"10.0.0.4"}}, []string{"10.0.0.2:2182", "10.0.0.4:2183", "10.0.0.9:2181"}, 1},
	} {
		names = test.now
		address, again := h.Next()
		if !again {
			t.Errorf("%s: %s begins no round", test.name, address)
		}
		got := []string{address}
		for range h.Len() - 1 {
			address, again := h.Next()
			if again {
				t.Errorf("%s: %s begins a round", test.name, address)
			}
			got = append(got, address)
		}
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if lines := strings.Count(log.String(), "left out"); lines != test.lines {
			t.Errorf("%s: %d lines:\n%s", test.name, lines, log.String())
		}
	}
}
