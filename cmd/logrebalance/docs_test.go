package main

import (
	"testing"

	"logkit/lib/cli/clitest"
)

func TestDocs(t *testing.T) { clitest.CheckDocs(t, newTool, "../..") }
