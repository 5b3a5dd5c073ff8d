package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/test/bed"
	"github.com/streamshift/streamshift/test/history"
	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	namespace = "default"
	// patience bounds each wait, on a busy machine of 2 cores.
	patience = 60 * time.Second
	// between is how often something awaited is looked at.
	between = 5 * time.Millisecond
	// before and after are how many appends are acknowledged around a crash.
	before, after = 20, 20
	// blockersAtMost bounds how much a failed case says.
	wrongAtMost = 5
)

var nodeNames = []string{"node-a", "node-b"}

// runner runs one case after the other on one cluster.
type runner struct {
	bed *bed.Bed
}

func newRunner(ctx context.Context, progress io.Writer) (*runner, error) {
	b, err := bed.Start(ctx, bed.Options{
		Nodes: nodeNames,
		// Without an election a manager is back at once; leases are short, so that what is gone is found out soon.
		ManagerArgs: []string{"--leader-elect=false", "--node-lease-duration=6s", "--takeover-after=1s", "--open-within=8s"},
		NodeArgs:    []string{"--lease-duration=5s", "--lease-renew-interval=1s"},
		Progress:    progress,
	})
	if err != nil {
		return nil, fmt.Errorf("starting a bed: %w", err)
	}
	return &runner{bed: b}, nil
}

// trial is one case under way.
type trial struct {
	*runner
	crash

	stream *v1alpha1.Stream
	// from and to are the stream's owner and the other node at the beginning.
	from, to *bed.Node
	// pid is the life that is to end.
	pid int
}

// run runs a case and returns what became of the appends.
func (r *runner) run(ctx context.Context, number int, c crash) (outcome string, err error) {
	t := &trial{runner: r, crash: c}
	if err := t.makeStream(ctx, fmt.Sprintf("crash-%d", number)); err != nil {
		return "", err
	}
	recording := history.Start(ctx, history.Options{
		URL:       r.bed.Gateway.URL() + "/v1/stream/" + namespace + "/" + t.stream.Name,
		Producers: 2, Appenders: 1, Followers: 1, Samplers: 1, Pause: time.Millisecond,
	})
	err = t.await(ctx, "the first appends", func(context.Context) error { return atLeast(recording, before) })
	if err == nil {
		err = t.endAtPoint(ctx)
	}
	if err == nil {
		err = t.settle(ctx, recording)
	}
	if err != nil { // what it said is worth more than what the judge would
		stopping, cancel := context.WithCancel(ctx)
		cancel()
		_, _, _ = recording.Stop(stopping)
		return "", errors.Join(err, r.recover(ctx))
	}
	h, stored, err := recording.Stop(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the stream back: %w", err)
	}
	if wrong := history.Judge(h, stored); len(wrong) > 0 {
		return "", fmt.Errorf("%d violations: %s", len(wrong), strings.Join(wrong[:min(len(wrong), wrongAtMost)], "; "))
	}
	if err := r.bed.Cluster.Client().Delete(ctx, t.stream); err != nil {
		return "", fmt.Errorf("deleting the stream: %w", err)
	}
	return fmt.Sprintf("%d appends, %d reads, %d failed requests", len(h.Appends), len(h.Reads), h.Failures), nil
}

// recover has the next case find every process well.
func (r *runner) recover(ctx context.Context) error {
	var errs []error
	for _, n := range r.bed.Nodes {
		errs = append(errs, n.Resume(), n.SetFaults(bed.Faults{}))
	}
	return errors.Join(append(errs, r.bed.Cluster.AwaitReady(ctx))...)
}

func atLeast(recording *history.Recording, count int) error {
	if got := recording.Acknowledged(); got < count {
		return fmt.Errorf("%d of %d appends are acknowledged", got, count)
	}
	return nil
}

func (t *trial) makeStream(ctx context.Context, name string) error {
	for _, node := range nodeNames {
		if err := t.bed.Cluster.AwaitNode(ctx, node); err != nil {
			return fmt.Errorf("waiting for the nodes: %w", err)
		}
	}
	t.stream = &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := t.bed.Cluster.Client().Create(ctx, t.stream); err != nil {
		return fmt.Errorf("making the stream: %w", err)
	}
	if err := t.awaitServed(ctx, t.stream); err != nil {
		return err
	}
	t.from = t.bed.Nodes[t.stream.Status.Node]
	for name, n := range t.bed.Nodes {
		if name != t.stream.Status.Node {
			t.to = n
		}
	}
	return nil
}

// process is the one that is to end.
func (t *trial) process() *localcluster.Process {
	switch t.role {
	case source:
		return t.from.Process
	case target:
		return t.to.Process
	case manager:
		return t.bed.Manager
	}
	panic("no process is the " + t.role.String())
}

// endAtPoint arms the point, does what passes it, and waits until the process has ended there.
func (t *trial) endAtPoint(ctx context.Context) error {
	t.pid = t.process().PID()
	if t.deed == restarting {
		if err := t.killAndAwaitNext(ctx); err != nil {
			return err
		}
	}
	if err := t.bed.Arm(t.pid, t.point, t.n); err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	if err := t.do(ctx); err != nil {
		return errors.Join(err, t.bed.Disarm(t.pid))
	}
	err := t.await(ctx, "the process to end at its point", func(context.Context) error {
		if !t.bed.Hit(t.pid) {
			return errors.New("it has not passed it")
		}
		return nil
	})
	return errors.Join(err, t.bed.Disarm(t.pid))
}

// settle has everything come to rest and more appends be acknowledged.
func (t *trial) settle(ctx context.Context, recording *history.Recording) error {
	if err := t.recover(ctx); err != nil {
		return err
	}
	if err := t.await(ctx, "every transfer to end", t.ended); err != nil {
		return err
	}
	if err := t.awaitServed(ctx, t.stream); err != nil {
		return err
	}
	want := recording.Acknowledged() + after
	return t.await(ctx, "more appends", func(context.Context) error { return atLeast(recording, want) })
}

// ended tells whether every transfer has an outcome, and no register a pending one.
func (t *trial) ended(ctx context.Context) error {
	list := &v1alpha1.StreamTransferList{}
	if err := t.bed.Cluster.Client().List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing transfers: %w", err)
	}
	for i := range list.Items {
		if transfer := &list.Items[i]; !handoff.Terminal(transfer) {
			return fmt.Errorf("transfer %s has not ended: %+v", transfer.Name, transfer.Status)
		}
	}
	return nil
}

// awaitServed waits until a stream is open, and reads it.
func (t *trial) awaitServed(ctx context.Context, stream *v1alpha1.Stream) error {
	return t.await(ctx, "stream "+stream.Name+" to be served", func(ctx context.Context) error {
		if err := t.bed.Cluster.Client().Get(ctx, client.ObjectKeyFromObject(stream), stream); err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		if stream.Status.PendingTransfer != nil || !condition.IsTrue(stream.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("its status is %+v", stream.Status)
		}
		return nil
	})
}

func (t *trial) await(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-tick.C:
		}
	}
}
