package integration

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/handoff"
)

// These specs are the table of the handoff's steps on a real API server: every legal step is taken, and every illegal
// one is tried as a hostile client would, in every way there is (ways_test.go), who knows nothing of our tests in patches.

var streams int

func newStream(ctx context.Context) *v1alpha1.Stream {
	streams++
	stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("stream-%d", streams)}}
	Expect(api.Create(ctx, stream)).To(Succeed())
	return stream
}

func newTransfer(target string) *v1alpha1.StreamTransfer {
	return &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Name: "to-" + target, UID: types.UID("uid-of-" + target)},
		Spec:       v1alpha1.StreamTransferSpec{Target: target},
	}
}

func now() metav1.MicroTime { return metav1.NewMicroTime(time.Now()) }

// take proposes steps one after the other and returns the stream after the last.
func take(ctx context.Context, stream *v1alpha1.Stream, steps ...func(*v1alpha1.Stream) handoff.Step) *v1alpha1.Stream {
	GinkgoHelper()
	for _, step := range steps {
		next := step(stream)
		updated, err := register.Propose(ctx, api, stream, next)
		Expect(err).NotTo(HaveOccurred(), next.Name)
		stream = updated
	}
	return stream
}

func place(s *v1alpha1.Stream) handoff.Step { return handoff.Place(s, "node-a", now()) }
func opened(s *v1alpha1.Stream) handoff.Step {
	return handoff.Opened(s, now(), &v1alpha1.OpenedLog{Segment: 3, Offset: 100})
}
func accept(s *v1alpha1.Stream) handoff.Step { return handoff.Accept(s, newTransfer("node-b"), now()) }
func complete(s *v1alpha1.Stream) handoff.Step {
	return handoff.CompleteTransfer(s, handoff.Closing{Tail: 3, StoppedAt: new(now()), ClosedAt: new(now())}, now())
}
func reopen(s *v1alpha1.Stream) handoff.Step   { return handoff.ReopenAt(s, s.Status.Epoch+1, now()) }
func withdraw(s *v1alpha1.Stream) handoff.Step { return handoff.Withdraw(s, now()) }
func closed(s *v1alpha1.Stream) handoff.Step   { return handoff.RecordClosed(s, 3, now()) }

var _ = Describe("The register", func() {
	It("starts without owner, and knows that nobody has looked at it", func(ctx SpecContext) {
		stream := newStream(ctx)
		Expect(stream.Status).To(Equal(v1alpha1.StreamStatus{ObservedGeneration: -1}))
		Expect(stream.Spec.ContentType).To(Equal("application/octet-stream"))
	})

	It("takes the steps of a transfer", func(ctx SpecContext) {
		stream := take(ctx, newStream(ctx), place, opened, accept)
		Expect(stream.Status.PendingTransfer.Target).To(Equal("node-b"))
		stream = take(ctx, stream, complete)
		Expect(stream.Status.Node).To(Equal("node-b"))
		Expect(stream.Status.Epoch).To(Equal(int64(2)))
		Expect(stream.Status.State).To(Equal(v1alpha1.StreamOpening))
		Expect(stream.Status.PendingTransfer).To(BeNil())
		Expect(stream.Status.LastTransfer.ClosedEpoch).To(Equal(int64(1)))
		Expect(take(ctx, stream, opened).Status.State).To(Equal(v1alpha1.StreamOpen))
	})

	It("takes a transfer of a stream that is opening, closed, or reopened before", func(ctx SpecContext) {
		take(ctx, newStream(ctx), place, accept, complete, opened)
		take(ctx, newStream(ctx), place, opened, closed, accept, complete, opened)
		take(ctx, newStream(ctx), place, opened, closed, reopen, opened, accept, complete, opened)
	})

	It("takes a withdrawal, and a transfer after it", func(ctx SpecContext) {
		take(ctx, newStream(ctx), place, opened, accept, withdraw, accept, complete)
	})

	It("takes a close while a transfer is pending, and the reopening after its withdrawal", func(ctx SpecContext) {
		take(ctx, newStream(ctx), place, opened, accept, closed, withdraw, reopen, opened)
	})

	It("takes a reopening above the log's epoch", func(ctx SpecContext) {
		stream := take(ctx, newStream(ctx), place, opened, func(s *v1alpha1.Stream) handoff.Step { return handoff.ReopenAt(s, 9, now()) })
		Expect(stream.Status.Epoch).To(Equal(int64(9)))
	})

	It("takes a takeover of a transfer with force", func(ctx SpecContext) {
		stream := take(ctx, newStream(ctx), place, opened, func(s *v1alpha1.Stream) handoff.Step {
			transfer := newTransfer("node-b")
			transfer.Spec.Force = true
			return handoff.Accept(s, transfer, now())
		})
		step := complete(stream)
		step.Next.LastTransfer.Forced = true
		stream.Status = step.Next
		Expect(api.Status().Update(ctx, stream)).To(Succeed())
	})

	It("says why a stream has no owner, without changing anything else", func(ctx SpecContext) {
		stream := take(ctx, newStream(ctx), func(s *v1alpha1.Stream) handoff.Step { return handoff.Unplaced(s, "no node is registered", now()) })
		Expect(stream.Status.Node).To(BeEmpty())
		Expect(stream.Status.Conditions).To(HaveLen(1))
		take(ctx, stream, place)
	})

	DescribeTable("refuses a step that was decided from an older register",
		func(ctx SpecContext, steps []func(*v1alpha1.Stream) handoff.Step, between, stale func(*v1alpha1.Stream) handoff.Step) {
			seen := take(ctx, newStream(ctx), steps...)
			current := take(ctx, seen, between)
			_, err := register.Propose(ctx, api, seen, stale(seen))
			Expect(err).To(MatchError(register.ErrRefused))
			after := &v1alpha1.Stream{}
			Expect(api.Get(ctx, client.ObjectKeyFromObject(seen), after)).To(Succeed())
			Expect(after.Status).To(Equal(current.Status), "a refused step changes nothing")
		},
		Entry("a second placement", []func(*v1alpha1.Stream) handoff.Step{}, place, func(s *v1alpha1.Stream) handoff.Step { return handoff.Place(s, "node-c", now()) }),
		Entry("a repeated completion", []func(*v1alpha1.Stream) handoff.Step{place, opened, accept}, complete, complete),
		Entry("a completion of a transfer that was withdrawn", []func(*v1alpha1.Stream) handoff.Step{place, opened, accept}, withdraw, complete),
		Entry("a withdrawal of a transfer that is complete", []func(*v1alpha1.Stream) handoff.Step{place, opened, accept}, complete, withdraw),
		Entry("a transfer that another one preceded", []func(*v1alpha1.Stream) handoff.Step{place, opened}, accept, func(s *v1alpha1.Stream) handoff.Step { return handoff.Accept(s, newTransfer("node-c"), now()) }),
		Entry("a transfer at an epoch that has passed", []func(*v1alpha1.Stream) handoff.Step{place, opened}, reopen, accept),
		Entry("a reopening under a pending transfer", []func(*v1alpha1.Stream) handoff.Step{place, opened}, accept, reopen),
		Entry("an opening at an epoch that has passed", []func(*v1alpha1.Stream) handoff.Step{place}, reopen, opened),
	)

	It("refuses a step on a stream that was deleted and created anew", func(ctx SpecContext) {
		stream := take(ctx, newStream(ctx), place)
		Expect(api.Delete(ctx, stream)).To(Succeed())
		again := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: stream.Namespace, Name: stream.Name}}
		Expect(api.Create(ctx, again)).To(Succeed())
		take(ctx, again, place)
		_, err := register.Propose(ctx, api, stream, opened(stream))
		Expect(err).To(MatchError(register.ErrRefused))
	})

	DescribeTable("refuses what a hostile client writes",
		func(ctx SpecContext, steps []func(*v1alpha1.Stream) handoff.Step, write func(*v1alpha1.StreamStatus), rule string) {
			before := take(ctx, newStream(ctx), steps...)
			wanted := before.DeepCopy()
			write(&wanted.Status)
			for way, try := range ways {
				err := try(ctx, before, wanted.DeepCopy())
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", way, err)
				Expect(err).To(MatchError(ContainSubstring(rule)), way)
			}
			after := &v1alpha1.Stream{}
			Expect(api.Get(ctx, client.ObjectKeyFromObject(before), after)).To(Succeed())
			Expect(after.Status).To(Equal(before.Status))
		},
		Entry("an epoch lowered", walk(place, opened, closed, reopen), func(s *v1alpha1.StreamStatus) { s.Epoch = 1 }, "epoch never decreases"),
		Entry("everything removed", walk(place, opened), func(s *v1alpha1.StreamStatus) { *s = v1alpha1.StreamStatus{ObservedGeneration: 1} }, "epoch never decreases"),
		Entry("the owner removed", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.Node = "" }, "a stream that has an owner keeps one"),
		Entry("the owner changed without a pending transfer", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.Node = "node-b"; s.Epoch = 2; s.State = v1alpha1.StreamOpening }, "node changes only by a completion"),
		Entry("the owner changed to another node than the target", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.Node = "node-c"; s.LastTransfer.Target = "node-c" }), "node changes only by a completion"),
		Entry("completed at another epoch than the register's", walk(place, opened, closed, reopen, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.LastTransfer.ClosedEpoch = 1 }), "node changes only by a completion"),
		Entry("completed without the next epoch", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.Epoch = 1 }), "node changes only by a completion"),
		Entry("completed with an epoch skipped", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.Epoch = 3 }), "node changes only by a completion"),
		Entry("completed without evidence", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.LastTransfer = nil }), "node changes only by a completion"),
		Entry("completed in the name of another transfer", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.LastTransfer.UID = "other" }), "node changes only by a completion"),
		Entry("completed with the pending transfer kept", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) {
			s.PendingTransfer = &v1alpha1.PendingTransfer{Name: "to-node-b", UID: "uid-of-node-b", Source: "node-a", Target: "node-b", AcceptedAt: now()}
		}), "node changes only by a completion"),
		Entry("completed in state Open", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.State = v1alpha1.StreamOpen }), "node changes only by a completion"),
		Entry("taken over by a transfer without force", walk(place, opened, accept), completedBy(func(s *v1alpha1.StreamStatus) { s.LastTransfer.Forced = true }), "node changes only by a completion"),
		Entry("the pending transfer replaced", walk(place, opened, accept), func(s *v1alpha1.StreamStatus) {
			s.PendingTransfer.UID, s.PendingTransfer.Name, s.PendingTransfer.Target = "other", "other", "node-c"
		}, "stream is already transferring"),
		Entry("force added to the pending transfer", walk(place, opened, accept), func(s *v1alpha1.StreamStatus) { s.PendingTransfer.Force = true }, "stream is already transferring"),
		Entry("a transfer accepted from another node than the owner", walk(place, opened), pendingFrom("node-c", "node-b"), "a transfer is accepted from the owner"),
		Entry("a transfer accepted to the owner itself", walk(place, opened), pendingFrom("node-a", "node-a"), "a transfer is accepted from the owner"),
		Entry("a transfer accepted at the next epoch in the same write", walk(place, opened), func(s *v1alpha1.StreamStatus) {
			pendingFrom("node-a", "node-b")(s)
			s.Epoch, s.State = 2, v1alpha1.StreamOpening
		}, "not while its transfer is pending"),
		Entry("a transfer accepted as the stream is placed", walk(), func(s *v1alpha1.StreamStatus) {
			pendingFrom("node-a", "node-b")(s)
			s.Node, s.Epoch, s.State = "node-a", 1, v1alpha1.StreamOpening
		}, "a stream is placed at epoch 1"),
		Entry("a transfer accepted for a stream without owner", walk(), pendingFrom("", "node-b"), "a stream without owner has no epoch, state or transfer"),
		Entry("an epoch for a stream without owner", walk(), func(s *v1alpha1.StreamStatus) { s.Epoch = 5 }, "a stream without owner has no epoch, state or transfer"),
		Entry("placed at another epoch than the first", walk(), func(s *v1alpha1.StreamStatus) { s.Node, s.Epoch, s.State = "node-a", 2, v1alpha1.StreamOpening }, "a stream is placed at epoch 1"),
		Entry("placed in state Open", walk(), func(s *v1alpha1.StreamStatus) { s.Node, s.Epoch, s.State = "node-a", 1, v1alpha1.StreamOpen }, "a stream is placed at epoch 1"),
		Entry("placed without state", walk(), func(s *v1alpha1.StreamStatus) { s.Node, s.Epoch = "node-a", 1 }, "a stream is placed at epoch 1"),
		Entry("reopened while a transfer is pending", walk(place, opened, accept), func(s *v1alpha1.StreamStatus) { s.Epoch, s.State = 2, v1alpha1.StreamOpening }, "not while its transfer is pending"),
		Entry("reopened with the pending transfer removed in the same write", walk(place, opened, accept), func(s *v1alpha1.StreamStatus) {
			s.Epoch, s.State, s.PendingTransfer = 2, v1alpha1.StreamOpening, nil
		}, "not while its transfer is pending"),
		Entry("reopened in state Open", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.Epoch = 2 }, "a stream is reopened in state Opening"),
		Entry("opened again after it was closed, at the same epoch", walk(place, opened, closed), func(s *v1alpha1.StreamStatus) { s.State = v1alpha1.StreamOpen }, "never back"),
		Entry("opening again at the same epoch", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.State = v1alpha1.StreamOpening }, "never back"),
		Entry("the state removed", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.State = "" }, "never back"),
		Entry("the last transfer rewritten", walk(place, opened, accept, complete), func(s *v1alpha1.StreamStatus) { s.LastTransfer.UID = "other" }, "lastTransfer is written by a completion only"),
		Entry("where the log was opened rewritten", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.OpenedLog.Segment = 99 }, "openedLog is written by an opening only"),
		Entry("where the log was opened removed", walk(place, opened), func(s *v1alpha1.StreamStatus) { s.OpenedLog = nil }, "openedLog is written by an opening only"),
		Entry("where the log was opened invented", walk(place), func(s *v1alpha1.StreamStatus) {
			s.OpenedLog = &v1alpha1.OpenedLog{Segment: 1}
		}, "openedLog is written by an opening only"),
		Entry("where the log was opened invented by a completion", walk(place, opened, accept), func(s *v1alpha1.StreamStatus) {
			*s = complete(&v1alpha1.Stream{Status: *s}).Next
			s.OpenedLog = &v1alpha1.OpenedLog{Segment: 1}
		}, "openedLog is written by an opening only"),
		Entry("the last transfer removed", walk(place, opened, accept, complete), func(s *v1alpha1.StreamStatus) { s.LastTransfer = nil }, "lastTransfer is written by a completion only"),
		Entry("a last transfer invented", walk(place, opened), func(s *v1alpha1.StreamStatus) {
			s.LastTransfer = &v1alpha1.LastTransfer{Name: "x", UID: "x", Source: "node-b", Target: "node-a", ClosedEpoch: 1, AcceptedAt: now(), CommittedAt: now()}
		}, "lastTransfer is written by a completion only"),
	)
})

// walk lists steps for a table entry.
func walk(steps ...func(*v1alpha1.Stream) handoff.Step) []func(*v1alpha1.Stream) handoff.Step {
	return steps
}

// completedBy writes the completion of the pending transfer, but for what wrong changes about it.
func completedBy(wrong func(*v1alpha1.StreamStatus)) func(*v1alpha1.StreamStatus) {
	return func(s *v1alpha1.StreamStatus) {
		next := complete(&v1alpha1.Stream{Status: *s}).Next
		wrong(&next)
		*s = next
	}
}

// pendingFrom writes a pending transfer.
func pendingFrom(source, target string) func(*v1alpha1.StreamStatus) {
	return func(s *v1alpha1.StreamStatus) {
		s.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "t", Source: source, Target: target, AcceptedAt: now()}
	}
}
