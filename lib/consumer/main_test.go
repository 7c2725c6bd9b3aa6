package consumer

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"logkit/lib/zkserver/zkpeer"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		zkpeer.StopShared()
		os.Exit(code)
	}))
}
