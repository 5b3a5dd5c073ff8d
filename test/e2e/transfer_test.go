package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	transfersInARow  = 50
	quietTransfers   = 5
	writesATransfer  = 6
	quietTime        = 2 * time.Second
	oneTransferLimit = 30 * time.Second
)

var _ = Describe("Transfers under continuous appends", func() {
	It("loses nothing in 50 transfers in a row", func(ctx SpecContext) {
		stream := newStream(ctx, "in-a-row")
		run := startLoad(ctx, stream.Name)
		owner := stream.Status.Node
		var windows []time.Duration
		for i := range transfersInARow {
			target := otherNode(owner)
			line := awaitTransfer(ctx, run, newTransfer(ctx, stream.Name, target, fmt.Sprintf("in-a-row-%d", i)))
			Expect(line.Source).To(Equal(owner))
			windows = append(windows, line.Gap.Length())
			owner = target
			awaitAppends(ctx, run, 2)
		}
		tally := stopLoad(ctx, run)
		Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
		slices.Sort(windows)
		AddReportEntry("windows", fmt.Sprintf("median %v, longest %v", windows[len(windows)/2], windows[len(windows)-1]))
	}, SpecTimeout(transfersInARow*oneTransferLimit))

	It("loses nothing in 50 transfers back to back between two nodes", func(ctx SpecContext) {
		stream := newStream(ctx, "back-to-back")
		run := startLoad(ctx, stream.Name)
		here, there := stream.Status.Node, otherNode(stream.Status.Node)
		for i := range transfersInARow {
			key := newTransfer(ctx, stream.Name, there, fmt.Sprintf("back-to-back-%d", i))
			awaitSuccess(ctx, key)
			here, there = there, here
		}
		awaitAppends(ctx, run, 2)
		tally := stopLoad(ctx, run)
		Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	}, SpecTimeout(transfersInARow*oneTransferLimit))
})

var _ = Describe("A quiet transfer", func() {
	// What is written about the stream itself is judged every time. The counters in the StreamNodes' status follow about a second
	// later, for all streams at once; on a slow machine they may fall into a transfer's time, so of all writes the median is judged.
	It("takes at most 6 writes to the API server from kubectl apply to Succeeded", func(ctx SpecContext) {
		stream := newStream(ctx, "quiet")
		owner := stream.Status.Node
		var totals []int
		for i := range quietTransfers {
			awaitNoWrites(ctx)
			began := time.Now()
			owner = otherNode(owner)
			awaitSuccess(ctx, newTransfer(ctx, stream.Name, owner, fmt.Sprintf("quiet-%d", i)))
			ended := time.Now()
			total, own := 0, 0
			for _, write := range writesSince(began) {
				GinkgoWriter.Println(describe(write))
				if write.At.After(ended) {
					continue
				}
				total++
				if write.Resource != "streamnodes" {
					own++
				}
			}
			Expect(own).To(BeNumerically(">", 0), "the audit log tells of no write")
			Expect(own).To(BeNumerically("<=", writesATransfer))
			totals = append(totals, total)
		}
		AddReportEntry("writes until Succeeded", fmt.Sprint(totals))
		slices.Sort(totals)
		Expect(totals[len(totals)/2]).To(BeNumerically("<=", writesATransfer), "%v", totals)
	}, SpecTimeout(quietTransfers*oneTransferLimit))
})

// writesSince returns the writes that were asked for after the moment, heartbeats and events aside.
func writesSince(moment time.Time) []localcluster.Write {
	GinkgoHelper()
	writes, err := cluster.Writes()
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(writes, func(write localcluster.Write) bool {
		return write.At.Before(moment) || write.Resource == "leases" || write.Resource == "events"
	})
}

// awaitNoWrites waits until everybody has come to rest: nothing was written for a while.
func awaitNoWrites(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() []localcluster.Write { return writesSince(time.Now().Add(-quietTime)) }).
		WithTimeout(patience).WithPolling(quietTime / 10).Should(BeEmpty())
}

func describe(write localcluster.Write) string {
	return fmt.Sprintf("%s %s %s/%s %s %d by %s",
		write.At.Format("05.000"), write.Verb, write.Resource, write.Subresource, write.Name, write.Code, write.User)
}
