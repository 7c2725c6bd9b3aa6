package consumer

import (
	"fmt"
	"os"
	"testing"
	"time"

	"logkit/lib/registry"
)

// TestGrowth counts what a member costs that joins others, and what it costs them: small always, and up to 200 members
// and 5,000 partitions under LOGKIT_SOAK=1 (with -v it prints the lines). It fails when a request is made for each
// member, or for each partition of others, by somebody whom that does not concern.
func TestGrowth(t *testing.T) {
	sizes := [][2]int{{5, 50}, {20, 200}}
	if os.Getenv("LOGKIT_SOAK") != "" {
		sizes = append(sizes, [2]int{50, 1000}, [2]int{100, 2500}, [2]int{200, 5000})
	}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%d members, %d partitions", size[0], size[1]), func(t *testing.T) { grow(t, twin(), size[0], size[1]) })
	}
	if os.Getenv("LOGKIT_SOAK") != "" { // for the time that it takes, of which a test can say nothing
		t.Run("zkserver", func(t *testing.T) { grow(t, ownTarget(t), 20, 200) })
		t.Run("zookeeper", func(t *testing.T) { grow(t, realTarget(t), 20, 200) })
	}
}

func grow(t *testing.T, target target, members, partitions int) {
	w := newWorld(t, target, partitions)
	usual := func(o *Options) { o.Debounce, o.CommitEvery = 0, time.Second }
	began := time.Now()
	var all []*runner
	for i := range members {
		all = append(all, w.join(fmt.Sprintf("member-%04d", i), usual))
	}
	w.shared(all, partitions)
	t.Logf("%d members settled %d partitions in %v", members, partitions, time.Since(began).Round(time.Millisecond))
	for _, r := range all {
		if r.s.fake != nil {
			r.s.fake.Stats()
		}
	}
	last := target.session(t)
	if last.fake != nil {
		last.fake.Stats()
	}
	began = time.Now()
	joined := w.joinBy(last, fmt.Sprintf("member-%04d-a", members/2), usual) // in the midst of the others
	all = append(all, joined)
	w.shared(all, partitions)
	took := time.Since(began).Round(time.Millisecond)
	if target.fake == nil {
		t.Logf("one more joined %d members with %d partitions in %v", members, partitions, took)
		return
	}
	share := partitions/(members+1) + 1
	own, others, most := last.fake.Stats().Requests, 0, 0
	for _, r := range all[:members] {
		n := r.s.fake.Stats().Requests
		others, most = others+n, max(most, n)
	}
	t.Logf("one more joined %d members with %d partitions in %v: %d requests of its own, %d of all others, at most %d of one", members, partitions, took, own, others, most)
	// It reads each member once, and claims its share, which others release: each of them 6 requests, three times over.
	if limit := members + 40 + 18*share; own > limit {
		t.Errorf("%d requests of the one that joined, allowed are %d", own, limit)
	}
	if limit := 60 + 24*share; most > limit {
		t.Errorf("%d requests of another one, allowed are %d", most, limit)
	}
}

// shared waits until the members have all the partitions, and know it.
func (w *world) shared(members []*runner, partitions int) {
	w.t.Helper()
	w.await("shares", func() bool {
		sum := 0
		for _, r := range members {
			owned, settled := r.Assignment()
			if n := len(owned["t"]); !settled || n < partitions/len(members) || n > partitions/len(members)+1 {
				return false
			}
			sum += len(owned["t"])
		}
		return sum == partitions
	}, nil)
}

// BenchmarkCommit is what one member commits that has 1,000 partitions, all of which have moved.
func BenchmarkCommit(b *testing.B) {
	b.Run("zkserver", func(b *testing.B) { benchmarkCommit(b, ownTarget(b)) })
	b.Run("zookeeper", func(b *testing.B) { benchmarkCommit(b, realTarget(b)) })
}

func benchmarkCommit(b *testing.B, target target) {
	const partitions = 1000
	w := newWorld(b, target, partitions)
	ctx := deadline(b)
	a, err := w.group.Lead(ctx, registry.RegistryGroup, -1)
	must(b, err)
	lease, err := w.admin.Lease(ctx)
	must(b, err)
	commits := make([]*registry.Commit, partitions)
	topic := w.topic()
	must(b, each(partitions, func(i int) error {
		owned, err := w.group.Claim(ctx, lease, a, topic, int32(i), "m-0", nil)
		commits[i] = &registry.Commit{Owned: owned}
		return err
	}))
	offset := int64(1 << 40)
	for b.Loop() {
		for _, c := range commits {
			c.Offset = offset
		}
		offset++
		must(b, w.group.Commit(ctx, lease, a, commits))
	}
	b.ReportMetric(partitions*float64(b.N)/b.Elapsed().Seconds(), "offsets/s")
}
