package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{rate: 7}
		began := time.Now()
		for range 71 {
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("71 messages at 7 a second took %v", took)
		}
		time.Sleep(time.Hour) // a pause is not made up for
		began = time.Now()
		for range 15 {
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("15 messages after a pause took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if p.wait(ctx) == nil {
			t.Error("waits on after its context")
		}
	})
}
