package engine

import "container/list"

// producers remembers the last accepted sequence of each producer, up to a limit; beyond it the one that was idle for
// longest is forgotten. The zero value is an empty table.
type producers struct {
	byID map[string]*list.Element // of Producer
	idle *list.List               // front: the one that was idle for longest; nil with byID
}

func (t *producers) get(id string) (Producer, bool) {
	e, ok := t.byID[id]
	if !ok {
		return Producer{}, false
	}
	return e.Value.(Producer), true
}

func (t *producers) set(p Producer, limit int) {
	if e, ok := t.byID[p.ID]; ok {
		e.Value = p
		t.idle.MoveToBack(e)
		return
	}
	if t.byID == nil {
		t.byID, t.idle = map[string]*list.Element{}, list.New()
	}
	t.byID[p.ID] = t.idle.PushBack(p)
	for len(t.byID) > limit {
		oldest := t.idle.Remove(t.idle.Front()).(Producer)
		delete(t.byID, oldest.ID)
	}
}

// clone returns a table of its own.
func (t *producers) clone() producers {
	var c producers
	if t.idle == nil {
		return c
	}
	for e := t.idle.Front(); e != nil; e = e.Next() {
		c.set(e.Value.(Producer), maxProducers)
	}
	return c
}

// encode writes the table, the one that was idle for longest first.
func (t *producers) encode(w *writer) {
	w.number(int64(len(t.byID)))
	if t.idle == nil {
		return
	}
	for e := t.idle.Front(); e != nil; e = e.Next() {
		encodeProducer(w, e.Value.(Producer))
	}
}

func (t *producers) decode(r *reader) {
	for range r.count() {
		t.set(decodeProducer(r), maxProducers)
		if r.err != nil {
			return
		}
	}
}

// maxProducers bounds the table that a decoder accepts: whatever limit its writer had.
const maxProducers = 1 << 20
