package client

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A partition without a leader is a broker that is away: what waits for brokers, and the exit status 75, are for it, too.
func TestNoLeaderIsUnavailable(t *testing.T) {
	for name, err := range map[string]error{
		"answer":     &PartitionError{Topic: "t", Err: brokerError(kerr.LeaderNotAvailable.Code, nil)},
		"partitions": &NoLeaderError{Topic: "t", Partitions: []int32{0}},
	} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "partition 0: no leader, its broker is not there") {
			t.Errorf("%s: %v, unavailable %v", name, err, errors.Is(err, ErrUnavailable))
		}
	}
	if err := brokerError(kerr.LeaderNotAvailable.Code, nil); !errors.Is(err, kerr.LeaderNotAvailable) || transport(err) || !retriable(err) {
		t.Errorf("%v: no answer of a broker any more", err)
	}
	if err := brokerError(kerr.NotLeaderForPartition.Code, nil); errors.Is(err, ErrUnavailable) {
		t.Errorf("%v: is an outage", err)
	}
}

// Of several brokers the one is named that has closed the connection, or does not answer, not all that might have been
// asked.
func TestBrokerThatFailsIsNamed(t *testing.T) {
	for how, says := range map[string]string{"closes": ": connection closed by the other side", "is silent": ": no answer within 200ms"} {
		addrs := []string{badBroker(t, how == "closes"), badBroker(t, how == "closes")}
		c, err := New(Options{Brokers: addrs, Timeout: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Topic(t.Context(), "t", false)
		c.Close()
		away := new(UnavailableError)
		if !errors.As(err, &away) || away.Addr != addrs[0] && away.Addr != addrs[1] || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%s: %v, of brokers %v", how, err, addrs)
		}
	}
}

// badBroker takes what it is asked, and then closes the connection or says nothing.
func badBroker(t *testing.T, closes bool) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 1))
				if closes {
					c.(*net.TCPConn).CloseWrite()
				}
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}
