package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The systemd unit starts logd with options that there are, tells systemd what logd does, and restarts it only where
// that can help.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile("logd.service")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = value
		}
	}
	var flags []string
	for _, f := range newTool().Describe()[0].Flags {
		for _, name := range f.Names {
			flags = append(flags, "--"+name)
		}
	}
	command := strings.Fields(settings["ExecStart"])
	if len(command) == 0 || command[0] != `"@SBINDIR@/logd"` {
		t.Fatalf("ExecStart=%s", settings["ExecStart"])
	}
	for _, word := range command[1:] {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "-") && !slices.Contains(flags, name) {
			t.Errorf("ExecStart has %s, which is no option", word)
		}
	}
	for key, want := range map[string]string{
		"Type": "notify", "StateDirectory": "logd", "RestartPreventExitStatus": "64", "StartLimitIntervalSec": "0", "NoNewPrivileges": "yes", "ProtectSystem": "strict",
		"EnvironmentFile": "-/etc/default/logd",
	} {
		if settings[key] != want {
			t.Errorf("%s=%s, want %s", key, settings[key], want)
		}
	}
}
