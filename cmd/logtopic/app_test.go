package main

import (
	"slices"
	"testing"

	"logkit/lib/logdir"
)

// Completions offer what a topic of logd can have set.
func TestSettingNames(t *testing.T) {
	if want := logdir.SettingNames(); !slices.Equal(settingNames, want) {
		t.Errorf("completions offer %q, and logd knows %q", settingNames, want)
	}
}
