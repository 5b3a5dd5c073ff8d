package engine

// view is what an append is judged by: the durable state and, in front of it, what is on its way there.
type view struct {
	life    life
	tail    Offset
	lastSeq string
	// producer returns the last accepted sequence of a producer.
	producer func(id string) (Producer, bool)
}

// ruling says what is to be done with an append.
type ruling byte

const (
	// rulingAccept: it goes into the log.
	rulingAccept ruling = iota + 1
	// rulingDuplicate: it is there already, or on its way.
	rulingDuplicate
	// rulingRefuse: it must not go into the log.
	rulingRefuse
)

// judge decides on an append. The order of the checks is the protocol's.
func judge(v *view, a *Append) (ruling, error) {
	switch v.life {
	case lifeDeleted:
		return rulingRefuse, ErrStreamDeleted
	case lifeUnborn:
		if !a.Create {
			return rulingRefuse, ErrNotCreated
		}
	case lifeOpen, lifeClosed:
		if a.Create {
			return rulingDuplicate, nil
		}
	}
	if v.life == lifeClosed {
		return judgeClosed(v, a)
	}
	if a.Producer != nil {
		if r, err := judgeProducer(v, a.Producer); r != rulingAccept {
			return r, err
		}
	}
	if a.Seq != "" && a.Seq <= v.lastSeq {
		return rulingRefuse, ErrSeqNotRising
	}
	return rulingAccept, nil
}

// judgeClosed lets the repetition of what was accepted before, or of what closed the stream, pass, and refuses everything
// else.
func judgeClosed(v *view, a *Append) (ruling, error) {
	if a.Producer != nil {
		last, known := v.producer(a.Producer.ID)
		if known && a.Producer.Epoch == last.Epoch && a.Producer.Seq <= last.Seq {
			return rulingDuplicate, nil
		}
	}
	if a.CloseStream && a.Producer == nil && len(a.Messages) == 0 {
		return rulingDuplicate, nil
	}
	return rulingRefuse, &StreamClosedError{Tail: v.tail}
}

// judgeProducer applies the rules of idempotent producers.
func judgeProducer(v *view, p *Producer) (ruling, error) {
	last, known := v.producer(p.ID)
	switch {
	case !known:
		if p.Seq != 0 {
			return rulingRefuse, &ProducerError{Fault: ProducerSeqGap, CurrentEpoch: p.Epoch, ReceivedSeq: p.Seq}
		}
	case p.Epoch < last.Epoch:
		return rulingRefuse, &ProducerError{Fault: StaleProducerEpoch, CurrentEpoch: last.Epoch, ReceivedSeq: p.Seq}
	case p.Epoch > last.Epoch:
		if p.Seq != 0 {
			return rulingRefuse, &ProducerError{Fault: ProducerEpochStart, CurrentEpoch: last.Epoch, ReceivedSeq: p.Seq}
		}
	case p.Seq <= last.Seq:
		return rulingDuplicate, nil
	case p.Seq > last.Seq+1:
		return rulingRefuse, &ProducerError{
			Fault: ProducerSeqGap, CurrentEpoch: last.Epoch, ExpectedSeq: last.Seq + 1, ReceivedSeq: p.Seq,
		}
	}
	return rulingAccept, nil
}
