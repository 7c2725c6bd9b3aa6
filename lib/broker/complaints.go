package broker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	complaintBurst = 20
	complaintEvery = time.Second
)

// complaints is the log of what clients do wrong: a line each, but no more than a burst and then one each second, so
// that nobody can fill the disk with log lines. How many were left out is said with the next.
type complaints struct {
	logger *slog.Logger

	mu      sync.Mutex
	allowed int
	since   time.Time
	left    int
}

func (c *complaints) warn(msg string, attrs ...slog.Attr) {
	ok, left := c.admit(time.Now())
	if !ok {
		return
	}
	if left > 0 {
		attrs = append(attrs, slog.Int("left_out", left))
	}
	c.logger.LogAttrs(context.Background(), slog.LevelWarn, msg, attrs...)
}

func (c *complaints) admit(now time.Time) (ok bool, left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if earned := int(now.Sub(c.since) / complaintEvery); earned > 0 {
		c.allowed = min(c.allowed+earned, complaintBurst)
		c.since = now
	}
	if c.allowed == 0 {
		c.left++
		return false, 0
	}
	c.allowed--
	left, c.left = c.left, 0
	return true, left
}

// report says why a connection ended, when the client is to blame.
func (c *conn) report(readErr, writeErr error) {
	remote := slog.String("client", c.socket.RemoteAddr().String())
	var frame *frameError
	switch {
	case errors.As(readErr, &frame):
		c.broker.complaints.warn("connection closed: bad request", remote, slog.String("reason", frame.reason))
	case errors.Is(writeErr, os.ErrDeadlineExceeded):
		c.broker.complaints.warn("connection closed: client takes no data", remote,
			slog.Duration("waited", c.broker.options.WriteTimeout))
	case writeErr != nil && !isGone(writeErr):
		c.broker.complaints.warn("connection closed", remote, slog.String("reason", writeErr.Error()))
	case errors.Is(readErr, os.ErrDeadlineExceeded):
		c.broker.logger.Debug("connection closed: nothing came", remote)
	case readErr != nil && !isGone(readErr):
		c.broker.complaints.warn("connection closed", remote, slog.String("reason", readErr.Error()))
	default:
		c.broker.logger.Debug("connection ended", remote)
	}
}

// isGone tells whether err says no more than that the client, or the broker, has ended the connection.
func isGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled)
}
