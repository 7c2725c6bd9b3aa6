package registry

import (
	"log/slog"
	"testing"
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
