package gateway

import (
	"context"
	"sync"
	"time"
)

const (
	// stalledAfter is for how long a client may take what it is sent before it counts as stalled: it is cut off once somebody
	// else finds no room for what it holds. Without such a shortage it has Limits.WriteTimeout.
	stalledAfter = 2 * time.Second
	// roomPatience bounds how long an event stream waits for room: long enough for those who stall to be cut off.
	roomPatience = 5 * stalledAfter
	// shortagePause is after how long a waiting one looks again who stalls.
	shortagePause = 50 * time.Millisecond
)

// room bounds the bytes of answers in memory. A client that takes nothing of what it is sent must not starve the others: it
// holds room for as long as nobody else needs it.
type room struct {
	total   int64
	stalled time.Duration
	now     func() time.Time
	// onCut is called for each client that is cut off.
	onCut func()

	mu     sync.Mutex
	used   int64
	writes map[*write]struct{}
	// given is closed when room is given back; nil while nobody waits.
	given chan struct{}
}

// write is something that is being sent to a client.
type write struct {
	begun time.Time
	held  int64
	cut   func()
}

func newRoom(total int64, stalled time.Duration, now func() time.Time, onCut func()) *room {
	return &room{total: total, stalled: stalled, now: now, onCut: onCut, writes: map[*write]struct{}{}}
}

// Used returns how many bytes are in memory.
func (r *room) Used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// Take reserves room for n bytes, or returns false where there is none.
func (r *room) Take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take(n, r.total)
}

func (r *room) take(n, limit int64) bool {
	if r.used+n > limit {
		return false
	}
	r.used += n
	return true
}

// Give returns room that was reserved.
func (r *room) Give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	if r.given != nil && n > 0 {
		close(r.given)
		r.given = nil
	}
}

// Await reserves room for n more bytes for somebody who holds some. Where there is none it has those clients cut off that
// stall, and waits for their room for as long as patience and ctx last; then it returns false. Half of the room is kept for
// those who hold some already, so that many who begin do not stop each other half-way.
func (r *room) Await(ctx context.Context, held, n int64, patience time.Duration) bool {
	limit := r.total
	if held == 0 {
		limit /= 2
	}
	taken, given := r.takeOrCut(n, limit)
	if taken {
		return true
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	again := time.NewTicker(shortagePause)
	defer again.Stop()
	for {
		select {
		case <-given:
		case <-again.C:
		case <-over.C:
			return false
		case <-ctx.Done():
			return false
		}
		if taken, given = r.takeOrCut(n, limit); taken {
			return true
		}
	}
}

// takeOrCut reserves room, or cuts off all who stall: many may lack room at once, and what one of them is given back another
// one takes. The channel is closed when room is given back.
func (r *room) takeOrCut(n, limit int64) (taken bool, given <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.take(n, limit) {
		return true, nil
	}
	for w := range r.writes {
		if w.held > 0 && r.now().Sub(w.begun) >= r.stalled {
			w.cut()
			r.onCut()
			delete(r.writes, w)
		}
	}
	if r.given == nil {
		r.given = make(chan struct{})
	}
	return false, r.given
}

// Sending notes that something which holds room is being sent to a client; cut makes that fail, and must not block. It is not
// called any more once done has returned.
func (r *room) Sending(held int64, cut func()) (done func()) {
	w := &write{begun: r.now(), held: held, cut: cut}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes[w] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.writes, w)
	}
}
