package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

const (
	namespace = "default"
	// leaveTimeout bounds how long a stream may stay on a cordoned node.
	leaveTimeout = 30 * time.Second
	// scheduleTimeout bounds how long a node may take until it takes streams again.
	scheduleTimeout = 30 * time.Second
	lookEvery       = 20 * time.Millisecond
)

var nodes = []string{"node-a", "node-b", "node-c"}

// place is where a ride takes place: a cluster and one stream on it.
type place struct {
	cluster *localcluster.Cluster
	started *localcluster.Streamshift
	stream  client.ObjectKey
	random  *rand.Rand
	// made counts the transfers, whose names it makes unique.
	made int
}

// disturbance is something that clients must not notice.
type disturbance struct {
	// what is told, in the plural.
	what  string
	times int
	do    func(context.Context, int) error
}

// disturbances returns what a ride goes through, in order.
func (p *place) disturbances(transfers, cordons int) []disturbance {
	return []disturbance{
		{"transfers", transfers, func(ctx context.Context, _ int) error { return p.transfer(ctx) }},
		{"cordons", cordons, func(ctx context.Context, _ int) error { return p.cordon(ctx) }},
		{"restarts of a node", len(nodes), func(ctx context.Context, i int) error { return p.restart(ctx, nodes[i]) }},
	}
}

// transfer transfers the stream to another node.
func (p *place) transfer(ctx context.Context) error {
	owner, err := p.owner(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return node == owner })
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", p.stream.Name, p.made)},
		Spec:       v1alpha1.StreamTransferSpec{Stream: p.stream.Name, Target: others[p.random.IntN(len(others))]},
	}
	p.made++
	if err := p.cluster.Client().Create(ctx, transfer); err != nil {
		return fmt.Errorf("asking for transfer %s: %w", transfer.Name, err)
	}
	ended, err := timeline.AwaitEnd(ctx, p.cluster.Client(), client.ObjectKeyFromObject(transfer))
	if err != nil {
		return fmt.Errorf("waiting for transfer %s: %w", transfer.Name, err)
	}
	if ended.Status.Phase != v1alpha1.TransferSucceeded {
		return fmt.Errorf("transfer %s ended as %s: %v", transfer.Name, ended.Status.Phase, ended.Status.Conditions)
	}
	return nil
}

// restart restarts a node as a rolling update does: the next one follows once this one takes streams again.
func (p *place) restart(ctx context.Context, node string) error {
	if err := p.started.Nodes[node].Restart(ctx); err != nil {
		return fmt.Errorf("restarting %s: %w", node, err)
	}
	_, err := p.cluster.Kubectl(ctx, "wait", "--for=condition=Schedulable", "streamnode/"+node, "--timeout="+scheduleTimeout.String())
	return err
}

// cordon cordons the Kubernetes Node of the stream's owner, waits until the stream is on another node, and uncordons it.
func (p *place) cordon(ctx context.Context) (err error) {
	owner, err := p.owner(ctx)
	if err != nil {
		return err
	}
	if _, err := p.cluster.Kubectl(ctx, "cordon", owner); err != nil {
		return err
	}
	if err := p.awaitLeave(ctx, owner); err != nil {
		return err
	}
	_, err = p.cluster.Kubectl(ctx, "uncordon", owner)
	return err
}

func (p *place) awaitLeave(ctx context.Context, from string) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		owner, err := p.owner(ctx)
		if err != nil || owner != from {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for stream %s to leave the cordoned node %s: %w", p.stream.Name, from, ctx.Err())
		}
	}
}

func (p *place) owner(ctx context.Context) (string, error) {
	stream := &v1alpha1.Stream{}
	if err := p.cluster.Client().Get(ctx, p.stream, stream); err != nil {
		return "", fmt.Errorf("reading stream %s: %w", p.stream.Name, err)
	}
	return stream.Status.Node, nil
}
