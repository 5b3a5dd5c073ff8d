package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
)

// restartLimit bounds a spec that restarts one process once.
const restartLimit = 3 * time.Minute

// A process is stopped (SIGTERM) and started again at once after a transfer was asked for, under load. The transfer must come
// to its end without a person.
var _ = DescribeTable("A clean restart in the middle of a transfer loses nothing",
	func(ctx SpecContext, name string, process func(source, target string) *localcluster.Process, clean func(load.Tally) bool) {
		stream := newStream(ctx, "restart-"+name)
		run := startLoad(ctx, stream.Name)
		source, target := stream.Status.Node, otherNode(stream.Status.Node)
		key := newTransfer(ctx, stream.Name, target, "restart-"+name)
		Expect(process(source, target).Restart(ctx)).To(Succeed())
		awaitSuccess(ctx, key)
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		Expect(clean(tally)).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	},
	func(name string, _ func(string, string) *localcluster.Process, _ func(load.Tally) bool) string {
		return fmt.Sprintf("of the %s", name)
	},
	Entry(nil, SpecTimeout(restartLimit), "source", func(source, _ string) *localcluster.Process { return streamshift.Nodes[source] }, load.Tally.Clean),
	Entry(nil, SpecTimeout(restartLimit), "target", func(_, target string) *localcluster.Process { return streamshift.Nodes[target] }, load.Tally.Clean),
	Entry(nil, SpecTimeout(restartLimit), "manager", func(string, string) *localcluster.Process { return streamshift.Manager }, load.Tally.Clean),
	Entry(nil, SpecTimeout(restartLimit), "apiserver", func(string, string) *localcluster.Process { return cluster.APIServer() }, load.Tally.Clean),
	Entry(nil, SpecTimeout(restartLimit), "etcd", func(string, string) *localcluster.Process { return cluster.Etcd() }, load.Tally.Clean),
	// While the one gateway is away nobody can be answered; what must hold is that nothing is lost, duplicated or reordered.
	Entry(nil, SpecTimeout(restartLimit), "gateway", func(string, string) *localcluster.Process { return streamshift.Gateway }, cleanButForFailures),
)

func cleanButForFailures(tally load.Tally) bool {
	tally.Failed = 0
	return tally.Clean()
}
