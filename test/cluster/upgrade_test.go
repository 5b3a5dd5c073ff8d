//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/kubelets"
	"github.com/streamshift/streamshift/test/timeline"
)

// previous is what an upgrade is tested from: the last release, or, while there is none, an earlier commit. Agents of earlier ones than
// this one give up on their streams where a manager needs more than a moment; their gateways take a request for sent that an ending
// node has not taken, and close connections on which a client has sent nothing for 10 s: in an upgrade from those some requests may fail.
const (
	previous        = "e607678"
	previousVersion = "previous"
)

// hasPrevious tells whether the checkout has the commit: a clone may be shallow.
func hasPrevious(ctx context.Context, checkout string) bool {
	return exec.CommandContext(ctx, "git", "-C", checkout, "cat-file", "-e", previous+"^{commit}").Run() == nil
}

// upgraded is what becomes of clients and of transfers while everything is replaced by a newer version.
func upgraded() {
	It("no client sees it, and transfers go on", func(ctx SpecContext) {
		if !hasPrevious(ctx, cluster.Sources("")) {
			Skip("this clone has no commit " + previous)
		}
		installByKustomize(ctx, previous, previousVersion)
		var names []string
		for _, node := range kubelets.NodeNames {
			names = append(names, createOn(ctx, node, "upgraded-"+node, 1)...)
		}
		clients := startClients(ctx, names...)
		transfers := startTransfers(ctx, names[0])
		kubectl(ctx, "apply", "--server-side", "-k", kustomization("", version))
		awaitRollout(ctx)
		succeeded, others := transfers.stop()
		AddReportEntry("transfers meanwhile", fmt.Sprintf("%d succeeded, others: %v", succeeded, others))
		Expect(succeeded).To(BeNumerically(">", 0))
		clients.expectExact(ctx)
	}, SpecTimeout(2*nodeLimit))

	It("leaves nothing when it is uninstalled", func(ctx SpecContext) {
		if !hasPrevious(ctx, cluster.Sources("")) {
			Skip("this clone has no commit " + previous)
		}
		uninstallByKustomize(ctx)
	}, SpecTimeout(2*patience))
}

// transfers are those of one stream, one after the other, around the nodes.
type transfers struct {
	end     context.CancelFunc
	done    sync.WaitGroup
	success int
	others  []string
}

func startTransfers(ctx context.Context, stream string) *transfers {
	t := &transfers{}
	asking, end := context.WithCancel(ctx)
	t.end = end
	t.done.Go(func() {
		for i := 0; asking.Err() == nil; i++ {
			t.one(ctx, stream, kubelets.NodeNames[i%len(kubelets.NodeNames)], fmt.Sprintf("%s-%d", stream, i))
			select {
			case <-asking.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	return t
}

// one asks for a transfer and waits for its end. It may be refused: while agents are replaced, one of them takes no streams.
func (t *transfers) one(ctx context.Context, stream, target, name string) {
	asked := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream, Target: target},
	}
	if err := api.Create(ctx, asked); err != nil {
		t.others = append(t.others, err.Error())
		return
	}
	ended, err := timeline.AwaitEnd(ctx, api, client.ObjectKeyFromObject(asked))
	switch {
	case err != nil:
		t.others = append(t.others, err.Error())
	case ended.Status.Phase == v1alpha1.TransferSucceeded:
		t.success++
	default:
		t.others = append(t.others, fmt.Sprintf("%s: %v", name, ended.Status.Conditions))
	}
}

// stop ends the asking, waits for the last transfer, and returns how many succeeded and what became of the others.
func (t *transfers) stop() (succeeded int, others []string) {
	t.end()
	t.done.Wait()
	return t.success, t.others
}
