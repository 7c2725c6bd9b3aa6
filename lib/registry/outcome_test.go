package registry

import (
	"errors"
	"io"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestOutcome: what the client passes on is an answer, a refusal that an operator can do something about, or says nothing
// of what became of the request.
func TestOutcome(t *testing.T) {
	unnamed := errors.New("unknown error: -6")
	for _, test := range []struct{ err, want error }{
		{nil, nil},
		{zk.ErrNoNode, zk.ErrNoNode},
		{zk.ErrNoServer, zk.ErrNoServer},
		{unnamed, unnamed},
		{errors.New("unknown error: -1"), ErrRefused},
		{errors.New("unknown error: -125"), ErrRefused},
		{zk.ErrConnectionClosed, ErrUnknownOutcome},
		{zk.ErrSessionExpired, ErrUnknownOutcome},
		{io.EOF, ErrUnknownOutcome},
	} {
		got := outcome(test.err)
		if !errors.Is(got, test.want) || lost(got) != (test.want == ErrUnknownOutcome) {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
	}
}
