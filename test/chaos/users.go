package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// transfers have streams go to random nodes, some of them forced, cancelled, deleted or with a deadline. An API server that
// is away is waited for.
func (s *storm) transfers(ctx context.Context, random *rand.Rand) error {
	for rest(ctx, time.Duration(50+random.IntN(1000))*time.Millisecond) {
		name := s.streams[random.IntN(len(s.streams))]
		transfer := &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("chaos-%d", random.Uint64())},
			Spec:       v1alpha1.StreamTransferSpec{Stream: name, Target: s.otherNode(random, name), Force: random.IntN(4) == 0},
		}
		if random.IntN(5) == 0 {
			transfer.Spec.DeadlineSeconds = new(int32(1 + random.IntN(5))) //nolint:gosec // small
		}
		if s.call(ctx, func(ctx context.Context) error { return s.bed.Cluster.Client().Create(ctx, transfer) }) != nil {
			s.tally.add("transfers", "not made", 1)
			continue
		}
		s.tally.add("transfers", "made", 1)
		switch random.IntN(6) {
		case 0:
			rest(ctx, time.Duration(random.IntN(60))*time.Millisecond)
			if s.patch(ctx, transfer, `{"spec":{"cancel":true}}`) == nil {
				s.tally.add("users", "cancels", 1)
			}
		case 1:
			rest(ctx, time.Duration(random.IntN(60))*time.Millisecond)
			if s.call(ctx, func(ctx context.Context) error { return s.bed.Cluster.Client().Delete(ctx, transfer) }) == nil {
				s.tally.add("users", "deletions of a transfer", 1)
			}
		}
	}
	return nil
}

// otherNode returns a node that does not own the stream, as the registers were seen last.
func (s *storm) otherNode(random *rand.Rand, stream string) string {
	owner := s.registers.owner(stream)
	for {
		if node := nodeNames[random.IntN(len(nodeNames))]; node != owner {
			return node
		}
	}
}

// drains take nodes out of service for a while, one after the other.
func (s *storm) drains(ctx context.Context, random *rand.Rand) error {
	for rest(ctx, s.length(random, 2, 20)) {
		node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: nodeNames[random.IntN(len(nodeNames))]}}
		if s.patch(ctx, node, `{"spec":{"unschedulable":true}}`) != nil {
			continue
		}
		s.tally.add("users", "drains", 1)
		rest(ctx, s.length(random, 1, 10))
		err := await(context.WithoutCancel(ctx), "the node to be put back into service", func(ctx context.Context) error {
			return s.patch(ctx, node, `{"spec":{"unschedulable":false}}`)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *storm) patch(ctx context.Context, object client.Object, patch string) error {
	return s.call(ctx, func(ctx context.Context) error {
		return s.bed.Cluster.Client().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

func (s *storm) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx)
}
