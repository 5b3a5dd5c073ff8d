package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/crashpoint"
	"github.com/streamshift/streamshift/test/bed"
	"github.com/streamshift/streamshift/test/history"
)

// handful are the points whose crash every change has to survive: around the atomic step, the fence and the acknowledgement.
var handful = []crashpoint.Point{
	crashpoint.AfterStep("Accept"), crashpoint.AfterStep("Complete"), crashpoint.BeforeStep("Opened"),
	crashpoint.AfterCall("create-opening"), crashpoint.CloseReturned, crashpoint.FileLinked,
}

// TestOnRealProcesses runs a handful of crashes, of which `make crash` runs all, and what else needs such a cluster.
func TestOnRealProcesses(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	log.SetLogger(logr.Discard())
	chance := rand.New(rand.NewPCG(seed, 0))
	r, err := newRunner(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.bed.Stop(); err != nil {
			t.Error(err)
		}
	})
	for i, c := range cases(chance.IntN) {
		if !slices.Contains(handful, c.point) || c.deed == restarting {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			outcome, err := r.run(t.Context(), i, c)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(outcome)
		})
	}
	t.Run("a register restored from a backup locks no stream", func(t *testing.T) { testRestore(t, r) })
	t.Run("a cluster restored from a snapshot locks no stream", func(t *testing.T) { testRestoreSnapshot(t, r) })
	t.Run("an API server that goes away under a transfer stops no stream", func(t *testing.T) { testOutage(t, r) })
}

// testOutage has the API server stand still between a transfer's acceptance and its completion. Who has heard of the acceptance is
// left to chance: source and target, one of them, or only the gateway. A source that has closed serves again, and requests go back
// to it from a target that knows nothing, before they have waited for too long.
func testOutage(t *testing.T, r *runner) {
	t.Helper()
	ctx := t.Context()
	s := &trial{runner: r}
	if err := s.makeStream(ctx, "outage"); err != nil {
		t.Fatal(err)
	}
	recording := history.Start(ctx, history.Options{
		URL:       r.bed.Gateway.URL() + "/v1/stream/" + namespace + "/" + s.stream.Name,
		Producers: 2, Followers: 1, Samplers: 1, Pause: time.Millisecond,
	})
	var transfer *v1alpha1.StreamTransfer
	steps := []struct {
		what string
		do   func() error
	}{
		{"waiting for the first appends", func() error {
			return s.await(ctx, "the first appends", func(context.Context) error { return atLeast(recording, before) })
		}},
		{"having the source's store be slow, so that its close takes a while", func() error { return s.from.SetFaults(bed.Faults{Slow: 3000}) }},
		{"making a transfer", func() (err error) { transfer, err = s.transfer(ctx); return err }},
		{"waiting until it is accepted", func() error { return s.await(ctx, "the transfer to be accepted", s.pending) }},
		{"pausing the API server", r.bed.Cluster.APIServer().Pause},
		{"having the store be well", func() error { return s.from.SetFaults(bed.Faults{}) }},
		{"appending while the API server is away", func() error {
			want := recording.Acknowledged() + after
			return s.await(ctx, "appends", func(context.Context) error { return atLeast(recording, want) })
		}},
		{"resuming the API server", r.bed.Cluster.APIServer().Resume},
		{"coming to rest", func() error { return s.settle(ctx, recording) }},
	}
	t.Cleanup(func() { _ = r.bed.Cluster.APIServer().Resume() })
	for _, step := range steps {
		if err := step.do(); err != nil {
			tellLogs(t, s.bed)
			t.Fatalf("%s: %v", step.what, err)
		}
	}
	if err := r.bed.Cluster.Client().Get(ctx, client.ObjectKeyFromObject(transfer), transfer); err != nil {
		t.Fatal(err)
	}
	// A target whose lease ran out meanwhile loses the transfer, which is right, too. What is said and what is must agree.
	want := s.from.Name()
	if transfer.Status.Phase == v1alpha1.TransferSucceeded {
		want = s.to.Name()
	}
	if s.stream.Status.Node != want {
		t.Errorf("the stream is on %s in the end, want %s; the transfer: %+v", s.stream.Status.Node, want, transfer.Status)
	}
	h, stored, err := recording.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range history.Judge(h, stored) {
		t.Error(wrong)
	}
	log, err := s.from.Log()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d appends, %d failed requests; the source resumed: %t", len(h.Appends), h.Failures, strings.Contains(log, "Resumed session"))
}

// linesTold is how many lines of a log are printed.
const linesTold = 60

// restored is a stream that clients append to while its register goes back to what it was.
type restored struct {
	*trial

	recording *history.Recording
	before    v1alpha1.StreamStatus
}

func startRestored(t *testing.T, r *runner, name string) *restored {
	t.Helper()
	s := &trial{runner: r}
	if err := s.makeStream(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return &restored{trial: s, before: s.stream.Status, recording: history.Start(t.Context(), history.Options{
		URL:       r.bed.Gateway.URL() + "/v1/stream/" + namespace + "/" + s.stream.Name,
		Producers: 2, Appenders: 1, Followers: 1, Samplers: 1, Pause: time.Millisecond,
	})}
}

// move has another node own the stream, so that the log is ahead of the backup.
func (s *restored) move(t *testing.T) {
	t.Helper()
	if _, err := s.transfer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.rest(t)
	if s.stream.Status.Node == s.before.Node || s.stream.Status.Epoch <= s.before.Epoch {
		t.Fatalf("the transfer led to %+v", s.stream.Status)
	}
}

func (s *restored) rest(t *testing.T) {
	t.Helper()
	if err := s.settle(t.Context(), s.recording); err != nil {
		t.Fatal(err)
	}
}

// judge waits until the register is above the log, which was at this epoch, and looks for every record.
func (s *restored) judge(t *testing.T, log int64) {
	t.Helper()
	err := s.await(t.Context(), "the register to be above the log again", func(ctx context.Context) error {
		if err := s.awaitServed(ctx, s.stream); err != nil {
			return err
		}
		if s.stream.Status.Epoch <= log {
			return fmt.Errorf("it is at epoch %d, and the log was at %d", s.stream.Status.Epoch, log)
		}
		return nil
	})
	if err != nil {
		tellLogs(t, s.bed)
		t.Fatal(err)
	}
	s.rest(t)
	h, stored, err := s.recording.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range history.Judge(h, stored) {
		t.Error(wrong)
	}
	t.Logf("restored from epoch %d to %d, served again at %d on %s: %d appends, %d failed requests",
		log, s.before.Epoch, s.stream.Status.Epoch, s.stream.Status.Node, len(h.Appends), h.Failures)
}

// tellLogs prints what every process said last.
func tellLogs(t *testing.T, b *bed.Bed) {
	t.Helper()
	for _, process := range b.Cluster.Processes() {
		log, err := process.Log()
		if err != nil {
			t.Log(err)
		}
		lines := strings.Split(strings.TrimSpace(log), "\n")
		t.Logf("%s: %s", process.Name(), strings.Join(lines[max(0, len(lines)-linesTold):], "\n"))
	}
}

// testRestore sets one register back to what it was two owners ago, in etcd itself. The log is ahead of it then.
func testRestore(t *testing.T, r *runner) {
	t.Helper()
	s := startRestored(t, r, "restored")
	backup, err := r.bed.ReadStored(t.Context(), namespace, s.stream.Name)
	if err != nil {
		t.Fatal(err)
	}
	s.move(t)
	log := s.stream.Status.Epoch
	if err := r.bed.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	s.judge(t, log)
}

// testRestoreSnapshot has all of etcd go back, as after a disaster: every register, node, lease and token.
func testRestoreSnapshot(t *testing.T, r *runner) {
	t.Helper()
	if r.bed.RestoreTool() == "" {
		t.Skip("left out: KUBEBUILDER_ASSETS has no etcdutl to restore a snapshot with")
	}
	s := startRestored(t, r, "restored-with-all")
	snapshot, err := r.bed.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.move(t)
	log := s.stream.Status.Epoch
	if err := r.bed.RestoreSnapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	if err := r.bed.Cluster.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.judge(t, log)
}

func TestEveryPointHasACase(t *testing.T) {
	all := cases(func(int) int { return 0 })
	for _, point := range crashpoint.All() {
		if !slices.ContainsFunc(all, func(c crash) bool { return c.point == point }) {
			t.Errorf("nobody is ended at %s", point)
		}
	}
	for _, r := range []role{source, target, manager} {
		if !slices.ContainsFunc(all, func(c crash) bool { return c.role == r }) {
			t.Errorf("no %s is ended", r)
		}
	}
}
