package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

// restartLimit bounds a spec that restarts one process once.
const restartLimit = 3 * time.Minute

// outcome says how a transfer may end in whose middle a process was restarted.
type outcome int

const (
	succeeds outcome = iota
	// succeedsOrIsWithdrawn: a target that says that it is about to end takes no streams, so what is not committed is withdrawn.
	succeedsOrIsWithdrawn
)

// A process is stopped (SIGTERM) and started again at once after a transfer was accepted, under load. The transfer must come
// to its end without a person.
var _ = DescribeTable("A clean restart in the middle of a transfer loses nothing",
	func(ctx SpecContext, name string, process func(source, target string) *localcluster.Process, ends outcome, clean func(load.Tally) bool) {
		stream := newStream(ctx, "restart-"+name)
		run := startLoad(ctx, stream.Name)
		source, target := stream.Status.Node, otherNode(stream.Status.Node)
		key := newTransfer(ctx, stream.Name, target, "restart-"+name)
		awaitAccepted(ctx, stream.Name, key)
		restart(ctx, process(source, target))
		transfer, err := timeline.AwaitEnd(ctx, cluster.Client(), key)
		Expect(err).NotTo(HaveOccurred())
		switch ends {
		case succeeds:
			Expect(transfer.Status.Phase).To(Equal(v1alpha1.TransferSucceeded), "%v", transfer.Status.Conditions)
		case succeedsOrIsWithdrawn:
			Expect(transfer.Status.Phase).To(BeElementOf(v1alpha1.TransferSucceeded, v1alpha1.TransferFailed), "%v", transfer.Status.Conditions)
		}
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		Expect(clean(tally)).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	},
	func(name string, _ func(string, string) *localcluster.Process, _ outcome, _ func(load.Tally) bool) string {
		return fmt.Sprintf("of the %s", name)
	},
	Entry(nil, SpecTimeout(restartLimit), "source", func(source, _ string) *localcluster.Process { return streamshift.Nodes[source] }, succeeds, load.Tally.Clean),
	Entry(nil, SpecTimeout(restartLimit), "target", func(_, target string) *localcluster.Process { return streamshift.Nodes[target] }, succeedsOrIsWithdrawn, load.Tally.Clean),
	Entry(nil, SpecTimeout(restartLimit), "manager", func(string, string) *localcluster.Process { return streamshift.Manager }, succeeds, load.Tally.Clean),
	// While these are away for longer than a request may be parked, a transfer that has stopped its source cannot be committed, or,
	// without the one gateway, nobody can be answered. What must hold is that nothing is lost, duplicated or reordered.
	Entry(nil, SpecTimeout(restartLimit), "apiserver", func(string, string) *localcluster.Process { return cluster.APIServer() }, succeeds, cleanButForFailures),
	Entry(nil, SpecTimeout(restartLimit), "etcd", func(string, string) *localcluster.Process { return cluster.Etcd() }, succeeds, cleanButForFailures),
	Entry(nil, SpecTimeout(restartLimit), "gateway", func(string, string) *localcluster.Process { return streamshift.Gateway }, succeeds, cleanButForFailures),
)

var _ = DescribeTable("A clean restart stops no open stream, and no request fails",
	func(ctx SpecContext, name string, process func() *localcluster.Process) {
		stream := newStream(ctx, "open-"+name)
		run := startLoad(ctx, stream.Name)
		restart(ctx, process())
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	},
	func(name string, _ func() *localcluster.Process) string { return fmt.Sprintf("of the %s", name) },
	Entry(nil, SpecTimeout(restartLimit), "manager", func() *localcluster.Process { return streamshift.Manager }),
	Entry(nil, SpecTimeout(restartLimit), "apiserver", func() *localcluster.Process { return cluster.APIServer() }),
	Entry(nil, SpecTimeout(restartLimit), "etcd", func() *localcluster.Process { return cluster.Etcd() }),
)

var _ = It("A rolling restart of all agents, one after another, fails no request", func(ctx SpecContext) {
	var runs []*load.Run
	for _, node := range nodes {
		for _, name := range streamsOn(ctx, node, "rolling-"+node, 4) {
			runs = append(runs, startLoad(ctx, name))
		}
	}
	for _, node := range nodes {
		Expect(streamshift.Nodes[node].Restart(ctx)).To(Succeed())
		Expect(cluster.AwaitNode(ctx, node)).To(Succeed())
	}
	for _, run := range runs {
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	}
}, SpecTimeout(2*restartLimit))

// restart ends a process and starts it again. Without API server or etcd nodes cannot renew their leases: the spec after this one finds that
// they have.
func restart(ctx context.Context, process *localcluster.Process) {
	GinkgoHelper()
	Expect(process.Restart(ctx)).To(Succeed())
	if process == cluster.APIServer() || process == cluster.Etcd() {
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.AwaitRenewals(ctx, nodes...)).To(Succeed()) })
	}
}

func cleanButForFailures(tally load.Tally) bool {
	tally.Failed = 0
	return tally.Clean()
}
