package engine

// ahead holds what appends that are not durable yet will change, so that the next append is judged as if they were.
// It is empty where nothing is on its way.
type ahead struct {
	life    life
	tail    Offset
	lastSeq string
	// producers are those that the appends on their way name; count says how many of them name each.
	producers map[string]producerAhead
}

type producerAhead struct {
	last  Producer
	count int
}

// begin makes ahead the durable state itself.
func (h *ahead) begin(st *state) {
	h.life, h.tail, h.lastSeq = st.life, st.tail, st.lastSeq
}

func (h *ahead) view(st *state) *view {
	return &view{
		life: h.life, tail: h.tail, lastSeq: h.lastSeq,
		producer: func(id string) (Producer, bool) {
			if p, ok := h.producers[id]; ok {
				return p.last, true
			}
			return st.producers.get(id)
		},
	}
}

// add takes in an append that was accepted.
func (h *ahead) add(a *Append) {
	h.tail += Offset(payload(a.Messages))
	if a.Create {
		h.life = max(h.life, lifeOpen)
	}
	if a.Seq != "" {
		h.lastSeq = a.Seq
	}
	if a.CloseStream {
		h.life = max(h.life, lifeClosed)
	}
	if a.Producer == nil {
		return
	}
	if h.producers == nil {
		h.producers = map[string]producerAhead{}
	}
	h.producers[a.Producer.ID] = producerAhead{last: *a.Producer, count: h.producers[a.Producer.ID].count + 1}
}

// remove forgets an append that is durable now.
func (h *ahead) remove(a *Append) {
	if a.Producer == nil {
		return
	}
	p := h.producers[a.Producer.ID]
	if p.count--; p.count > 0 {
		h.producers[a.Producer.ID] = p
		return
	}
	if delete(h.producers, a.Producer.ID); len(h.producers) == 0 {
		h.producers = nil
	}
}
