package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/tracing"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch;create;delete;patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streams/status,verbs=patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get

// Reconciler drives the sessions of one node.
type Reconciler struct {
	// Node is the name of this node.
	Node string
	// Owned and Inbound read from the two watches: streams that the node owns, and those that a pending transfer
	// brings. Live reads from the API server; Client writes to it.
	Owned, Inbound client.Reader
	Live           client.WithWatch
	Client         client.Client
	Engine         Engine
	// NewID returns a random identity.
	NewID func() string
	Now   func() time.Time
	Log   logr.Logger
	// Tracer records spans; nil: none.
	Tracer *tracing.Tracer

	host  *host
	queue queue
}

const (
	// retryAfter is when a step that was refused, or whose work failed, is taken again.
	retryAfter = time.Second
	// forgetAfter is for how long the node remembers where a stream went, for requests that still come here.
	forgetAfter = time.Minute
	// setBackAfter is after how long an older register than the one known is taken for more than a watch that is behind.
	setBackAfter = 2 * time.Second
	// tellFailureAfter is for how long opening a stream must fail before the stream's condition says so: once an epoch.
	tellFailureAfter = 2 * time.Second
	// firstOpenPause is how long the attempt after a failed opening waits; each further one twice as long, openPauseDoubles
	// times and up to longestOpenPause.
	firstOpenPause   = 250 * time.Millisecond
	longestOpenPause = 4 * time.Second
	openPauseDoubles = 8
)

// Reconcile observes, decides and acts on one stream.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing stream %s: %w", request, err)
	}
	if v == nil {
		return ctrl.Result{}, nil
	}
	if pending := v.stream.Status.PendingTransfer; pending != nil && pending.Target == r.Node {
		r.host.addresses.prepare(ctx, pending.Source) // to send requests back to it, should the transfer take long
	}
	d := decide(r.Node, v, r.Now())
	log := r.Log.WithValues("stream", request.String(), "epoch", v.stream.Status.Epoch)
	log.V(2).Info("Decided", "action", d.String(), "session", v.session.Phase.String(), "reason", d.reason)
	err = r.act(logr.NewContext(ctx, log), v, d)
	switch {
	case errors.Is(err, register.ErrRefused):
		log.V(1).Info("Deciding again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: retryAfter}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("acting on stream %s: %w", request, err)
	}
	return ctrl.Result{RequeueAfter: lookAgainAfter(v, d, r.Now())}, nil
}

// effect is what the node does next about a stream beyond the steps of the handoff.
type effect int

const (
	// handOff takes the step that internal/handoff decides.
	handOff effect = iota
	// expire deletes the Stream object of a stream whose time is over, or whose log says that it is deleted.
	expire
	// removeLog removes the log of a stream that is being deleted; releaseObject lets the object go afterwards.
	removeLog
	releaseObject
	// tellCannotOpen says in the stream's condition that opening it fails.
	tellCannotOpen
	// forget drops what is known of a stream that is gone, or went elsewhere a while ago.
	forget
)

type decision struct {
	effect effect
	step   handoff.Decision
	reason string
}

func (d decision) String() string {
	switch d.effect {
	case handOff:
		return d.step.Action.String()
	case expire:
		return "Expire"
	case removeLog:
		return "RemoveLog"
	case releaseObject:
		return "ReleaseObject"
	case tellCannotOpen:
		return "TellCannotOpen"
	case forget:
		return "Forget"
	}
	return fmt.Sprintf("effect %d", int(d.effect))
}

// decide is pure.
func decide(me string, v *view, now time.Time) decision {
	deleting := !v.stream.DeletionTimestamp.IsZero()
	switch {
	case v.gone:
		return decision{effect: forget, reason: "the stream does not exist any more"}
	case deleting && v.removed:
		return decision{effect: releaseObject, reason: "the log of the deleted stream is removed"}
	case v.removing:
		return decision{step: handoff.Decision{Action: handoff.Wait, Epoch: v.session.Epoch}, reason: "the log is being removed"}
	case deleting && v.stream.Status.Node == me && holdsLog(v.stream) && (v.deleted || v.session.Phase == handoff.SessionOpen):
		// Only an open session can say in the log that the stream is deleted; where there is none it is opened first.
		return decision{effect: removeLog, reason: "the stream is being deleted"}
	case v.deleted && !deleting:
		return decision{effect: expire, reason: "the log says that the stream is deleted"}
	case !v.involved && v.session.Phase == handoff.SessionNone && v.forgettable:
		return decision{effect: forget, reason: "the stream went elsewhere a while ago"}
	case v.expiresAt != nil && !now.Before(*v.expiresAt) && !deleting:
		return decision{effect: expire, reason: "the stream's time to live is over"}
	}
	step := handoff.Decide(me, &v.stream.Status, v.session)
	if step.Action == handoff.Open {
		return decideOpen(v, step, now)
	}
	return decision{step: step, reason: step.Reason}
}

// decideOpen has attempts that fail told once an epoch, and made ever more rarely.
func decideOpen(v *view, step handoff.Decision, now time.Time) decision {
	ready, _ := condition.Get(v.stream.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case v.cannotOpen != nil && ready.Reason != v1alpha1.ReasonCannotOpen:
		return decision{effect: tellCannotOpen, reason: "opening the stream fails"}
	case now.Before(v.openAfter):
		return decision{step: handoff.Decision{Action: handoff.Wait, Epoch: step.Epoch}, reason: "opening the stream failed a moment ago"}
	}
	return decision{step: step, reason: step.Reason}
}

// lookAgainAfter returns when a stream is to be looked at though nothing changes: 0 for never.
func lookAgainAfter(v *view, d decision, now time.Time) time.Duration {
	switch {
	case v.setBack:
		return retryAfter
	case !v.involved:
		return forgetAfter
	case now.Before(v.openAfter):
		return min(v.openAfter.Sub(now), retryAfter)
	case d.effect != handOff || d.step.Action != handoff.Wait:
		return retryAfter
	case v.session.CutOff:
		return retryAfter
	case v.expiresAt != nil:
		return max(v.expiresAt.Sub(now), time.Millisecond)
	case v.session.Phase != handoff.SessionOpen:
		return retryAfter
	}
	return 0
}
