package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"logkit/lib/cli/clitest"
	"logkit/lib/inspect"
)

func TestDocs(t *testing.T) { clitest.CheckDocs(t, newTool, "../..") }

// TestVerdictsOnThePage: each verdict stands there by its name and by the words that --check prints.
func TestVerdictsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../man/logsegdump.1")
	if err != nil {
		t.Fatal(err)
	}
	kinds := inspect.Kinds()
	if len(kinds) < 20 {
		t.Fatalf("%d kinds of verdicts", len(kinds))
	}
	for _, kind := range kinds {
		item := fmt.Sprintf("\n.It Cm %s Pq Dq %s\n", string(kind), kind)
		if kind.Damage() != strings.Contains(string(page), item) {
			t.Errorf("%s: the page has it or not, against %v:%s", string(kind), kind.Damage(), item)
		}
	}
}
