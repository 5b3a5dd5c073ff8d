package session

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/routing"
)

// host holds what the node knows of its streams: for each the newest register seen, and the session. The watches, the
// reconciler and the work it starts change it; the front reads it.
type host struct {
	me  string
	now func() time.Time
	// addresses of other nodes, where requests are sent on to.
	addresses *addresses

	mu      sync.Mutex
	entries map[types.NamespacedName]*entry
	// arrived is closed, and replaced, when a stream becomes known.
	arrived chan struct{}
	// stopping tells that the agent ends: no session is opened any more.
	stopping bool
}

// entry is one stream. All of it is guarded by host.mu.
type entry struct {
	// stream is the newest version seen, at seenAt.
	stream   *v1alpha1.Stream
	seenAt   time.Time
	settings durablestreams.Settings
	session  handoff.Session
	// log is the session's, in phases Open and Closing.
	log Log
	// opening is the identity of the session at opening.Epoch, kept over repeated attempts.
	opening Opening
	// closing is what the session in phase Closed left behind.
	closing handoff.Closing
	// openBegan is when the attempt at opening it that was made last began.
	openBegan time.Time
	// openedAt is when the session in phase Open was opened.
	openedAt moment
	// openedLog is where in its log it was opened.
	openedLog *v1alpha1.OpenedLog
	// removing tells that the log of the deleted stream is being removed; removed, that it is.
	removing, removed bool
	// deleted tells that the log says so.
	deleted bool
	// unansweredSince is since when steps on the register were proposed in vain, and nobody answered; zero: they are
	// answered.
	unansweredSince time.Time
	// setBackSince is since when the newest version delivered is older than the one known: the watch is behind an own write,
	// for a moment, or etcd was restored from a backup; zero: it is not.
	setBackSince time.Time
	// inboundSince is when the pending transfer that brings the stream here was seen; overdue, that this is long ago.
	inboundSince time.Time
	overdue      bool
	// failingSince is since when attempts at opening the session at opening.Epoch have failed; zero: none has.
	failingSince time.Time
	// failedOpens counts them; openAfter is when the next one may be made.
	failedOpens int
	openAfter   time.Time
	// failure is the last error of the work on the session; nil once it succeeded.
	failure error
	// changed is closed, and replaced, when anything that the front sees changes.
	changed chan struct{}
}

func newHost(me string, live client.Reader, now func() time.Time) *host {
	return &host{me: me, now: now, addresses: newAddresses(live, now), entries: map[types.NamespacedName]*entry{}, arrived: make(chan struct{})}
}

// origin tells how a version of a stream was learnt.
type origin int

const (
	// listedAtStart: it was there when the process started. An epoch assigned in it may have been opened before.
	listedAtStart origin = iota
	// seenLive: the watch delivered it, an own write returned it, or the API server was asked.
	seenLive
)

// see takes in a version of a stream, unless a newer one is known.
func (h *host) see(stream *v1alpha1.Stream, from origin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := types.NamespacedName{Namespace: stream.Namespace, Name: stream.Name}
	e := h.entries[key]
	switch {
	case e == nil:
		e = &entry{changed: make(chan struct{})}
		h.entries[key] = e
		close(h.arrived)
		h.arrived = make(chan struct{})
	case e.stream.UID != stream.UID:
		if !register.Newer(stream, e.stream) {
			return
		}
		e.end() // deleted and created anew under its name: another stream
	case !register.Newer(stream, e.stream):
		e.noteAge(stream, h.now())
		return
	}
	h.take(e, stream, from)
}

// noteAge notes whether a version that is not newer than the one known is older.
func (e *entry) noteAge(stream *v1alpha1.Stream, now time.Time) {
	switch {
	case !register.Newer(e.stream, stream):
		e.setBackSince = time.Time{}
	case e.setBackSince.IsZero():
		e.setBackSince = now
	}
}

// setBack takes in what the API server answered to a question that was asked when the version known was known already. One that
// is older proves that the register was set back, and is the truth. What this node may have opened since then nobody knows, so
// that it opens at no epoch that this version assigns.
func (h *host) setBack(stream *v1alpha1.Stream, known string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[types.NamespacedName{Namespace: stream.Namespace, Name: stream.Name}]
	if e == nil || e.stream.UID != stream.UID || e.stream.ResourceVersion != known || !register.Newer(e.stream, stream) {
		return // something newer came meanwhile
	}
	e.session.MayOpen = 0
	h.take(e, stream, listedAtStart)
}

// take has a version be the one that is known.
func (h *host) take(e *entry, stream *v1alpha1.Stream, from origin) {
	var known *v1alpha1.StreamStatus
	if e.stream != nil && e.stream.UID == stream.UID {
		known = &e.stream.Status
	}
	if arriving(h.me, known) != arriving(h.me, &stream.Status) {
		e.inboundSince, e.overdue = h.now(), false
	}
	if from == seenLive {
		e.session.MayOpen = handoff.Assigned(h.me, known, &stream.Status, e.session.MayOpen)
	}
	e.stream, e.settings, e.seenAt, e.setBackSince = stream, settingsOf(stream), h.now(), time.Time{}
	e.tell()
}

// arriving returns the UID of the pending transfer that brings the stream to a node; empty for none.
func arriving(me string, register *v1alpha1.StreamStatus) types.UID {
	if register == nil || register.PendingTransfer == nil || register.PendingTransfer.Target != me {
		return ""
	}
	return register.PendingTransfer.UID
}

// forget drops a stream that the node has nothing to do with any more.
func (h *host) forget(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.entries[key]; e != nil {
		e.end()
		e.tell()
		delete(h.entries, key)
	}
}

// update changes an entry and tells the front. It does nothing where the stream is not known any more, or is another
// one under the same name.
func (h *host) update(key types.NamespacedName, uid types.UID, change func(*entry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.entries[key]; e != nil && e.stream.UID == uid {
		change(e)
		e.tell()
	}
}

// tell wakes everybody who waits for a change.
func (e *entry) tell() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// end abandons the session, if there is one.
func (e *entry) end() {
	if e.log != nil {
		e.log.Abandon()
	}
	e.log, e.session, e.opening, e.closing, e.failure = nil, handoff.Session{}, Opening{}, handoff.Closing{}, nil
	e.removing, e.removed, e.deleted = false, false, false
	e.unansweredSince = time.Time{}
	e.openedOrNew()
}

// openedOrNew forgets the attempts at opening that failed.
func (e *entry) openedOrNew() {
	e.failingSince, e.failedOpens, e.openAfter = time.Time{}, 0, time.Time{}
}

// openFailed notes an attempt at opening that failed, and has the next one wait.
func (e *entry) openFailed(now time.Time) {
	if e.failingSince.IsZero() {
		e.failingSince = now
	}
	e.openAfter = now.Add(min(firstOpenPause<<min(e.failedOpens, openPauseDoubles), longestOpenPause))
	e.failedOpens++
}

// ended notes that a session ended by itself.
func (e *entry) ended(err error) {
	e.log = nil
	epoch := e.session.Epoch
	e.session = handoff.Session{Phase: handoff.SessionNone}
	e.deleted = e.deleted || errors.Is(err, engine.ErrStreamDeleted)
	if fenced, is := errors.AsType[*engine.FencedError](err); is {
		e.session = handoff.Session{Phase: handoff.SessionFenced, Epoch: epoch, LogEpoch: int64(fenced.Epoch)}
	}
}

// openLog returns the log of a stream's open session; nil where there is none.
func (h *host) openLog(key types.NamespacedName, uid types.UID) Log {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.entries[key]; e != nil && e.stream.UID == uid && e.session.Phase == handoff.SessionOpen {
		return e.log
	}
	return nil
}

// situation is the front's view.
func (h *host) situation(stream routing.Stream) (routing.Situation, bool, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[types.NamespacedName{Namespace: stream.Namespace, Name: stream.Name}]
	if e == nil {
		return routing.Situation{}, false, h.arrived
	}
	s := situationOf(e.stream, e.settings)
	if e.session.Phase == handoff.SessionOpen && e.session.Epoch == e.stream.Status.Epoch {
		s.Log = e.log
	}
	s.CutOff, s.Overdue = e.cutOff(h.now()), e.overdue
	return s, true, e.changed
}

func situationOf(stream *v1alpha1.Stream, settings durablestreams.Settings) routing.Situation {
	s := routing.Situation{
		UID: string(stream.UID), Epoch: stream.Status.Epoch, Owner: stream.Status.Node, Settings: settings, Arrived: arrivedBy(&stream.Status),
	}
	if pending := stream.Status.PendingTransfer; pending != nil {
		s.Pending = &routing.Pending{UID: string(pending.UID), Source: pending.Source, Target: pending.Target}
	}
	return s
}

func settingsOf(stream *v1alpha1.Stream) durablestreams.Settings {
	settings := durablestreams.Settings{ContentType: stream.Spec.ContentType}
	if ttl := stream.Spec.TTL; ttl != nil {
		settings.TTL = &ttl.Duration
	}
	if expiresAt := stream.Spec.ExpiresAt; expiresAt != nil {
		settings.ExpiresAt = &expiresAt.Time
	}
	return settings
}
