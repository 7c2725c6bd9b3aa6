package cmd

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// printing is one time that a message was printed.
type printing struct {
	member *chaosMember
	at     int64 // in its output
}

func (c *chaos) check(sent int) {
	stored := map[string]bool{}
	for line := range strings.Lines(c.tool("logtail", "-o", "earliest", "--format", `%p %o\n`, "t").must()) {
		stored[line] = true
	}
	printed := map[string][]printing{}
	total, excused := 0, 0
	for _, m := range c.members {
		if !m.crashed && strings.Contains(m.text(m.said), ": lost at offset") { // a busy machine is enough to lose a session
			excused++
			m.crashed = true
		}
		at := int64(0)
		for line := range strings.Lines(m.text(m.out)) {
			if strings.HasSuffix(line, "\n") { // one that was killed in a write may leave half a line
				printed[line] = append(printed[line], printing{m, at})
				total++
			}
			at += int64(len(line))
		}
	}
	skipped, foreign := 0, 0
	for line := range stored {
		if printed[line] == nil {
			skipped++
		}
	}
	zombies := map[*chaosMember]map[string]bool{}
	for line, list := range printed {
		if !stored[line] {
			foreign++
		}
		c.judge(line, list, zombies)
	}
	for m, lines := range zombies {
		c.t.Logf("a member that was stopped %d times has ended the write that it was in: %d messages", len(m.stops), len(lines))
		if writes := partitionsOf(lines); writes > len(m.stops) {
			c.t.Errorf("a member that was stopped %d times has printed of %d partitions what was no longer its own", len(m.stops), writes)
		}
	}
	if skipped > 0 || foreign > 0 || len(stored) != sent {
		c.t.Errorf("%d sent, %d stored, %d not printed, %d printed that are not stored", sent, len(stored), skipped, foreign)
	}
	c.t.Logf("%d messages, %d printed again; %d members, %d of them lost a session unprovoked; events %v", len(stored), total-len(printed), len(c.members), excused, c.counts)
	for _, what := range slices.Sorted(maps.Keys(c.balance)) {
		list := c.balance[what]
		slices.Sort(list)
		c.t.Logf("balanced after %s: median %v, longest %v of %d", what, list[len(list)/2].Round(time.Millisecond), list[len(list)-1].Round(time.Millisecond), len(list))
	}
	if len(stored) < 1000 {
		c.t.Errorf("%d messages prove little", len(stored))
	}
}

// judge looks at who has printed a message: of those who have not crashed one, once. What a member has printed after it
// was stopped, and others who have not crashed, too, it may have printed in one write.
func (c *chaos) judge(line string, list []printing, zombies map[*chaosMember]map[string]bool) {
	clean := 0
	for _, p := range list {
		if !p.member.crashed {
			clean++
		}
	}
	if clean > 1 {
		c.t.Errorf("message %q was printed %d times by members that did not crash", strings.TrimSpace(line), clean)
	}
	if clean != 1 || len(list) < 2 {
		return
	}
	for _, p := range list {
		if slices.ContainsFunc(p.member.stops, func(s [2]int64) bool { return s[0] <= p.at && p.at < s[1] }) {
			if zombies[p.member] == nil {
				zombies[p.member] = map[string]bool{}
			}
			zombies[p.member][line] = true
		}
	}
}

func partitionsOf(lines map[string]bool) int {
	partitions := map[string]bool{}
	for line := range lines {
		p, _, _ := strings.Cut(line, " ")
		partitions[p] = true
	}
	return len(partitions)
}
