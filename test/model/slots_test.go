package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/handoff"
)

// Two streams and two transfers that want the same node, which has one slot. The manager decides on both at the same time,
// counts with the real ledger, and sees each register late. What sources and targets do is one step each here: the other
// walk has them in full.

const crowded = 2 // the node that both want

// crowding takes each of the two streams to the same node.
var crowding = [transferCount + 1]transfer{{}, {name: "t1", target: crowded}, {name: "t2", target: crowded}}

// pair is a state of that world: one entry a stream, from index 1.
type pair struct {
	registers, views [transferCount + 1]register
	// reserved tells that the manager has reserved the slot for the stream and is about to propose on acceptOn.
	reserved [transferCount + 1]bool
	acceptOn [transferCount + 1]register
	outcomes [transferCount + 1]outcome
	cancels  [transferCount + 1]bool
	losses   int8
	// left is how many cancellations there may be.
	left int8
}

// taken counts the slots of the crowded node that the registers take.
func (p *pair) taken() int {
	count := 0
	for i := 1; i <= transferCount; i++ {
		r := p.registers[i]
		if r.node == crowded || r.pending != 0 && transfers[r.pending].target == crowded {
			count++
		}
	}
	return count
}

// ledger is what the manager counts: what it has seen, and what it has reserved.
func (p *pair) ledger() *slots.Ledger {
	l := slots.NewLedger()
	for i := 1; i <= transferCount; i++ {
		l.Observe(p.stream(i, p.views[i]))
		if p.reserved[i] {
			l.Reserve(uidOf(i), nodeNames[crowded], 100)
		}
	}
	return l
}

func uidOf(i int) types.UID { return types.UID(fmt.Sprintf("s%d", i)) }

func (p *pair) stream(i int, r register) *v1alpha1.Stream {
	stream := r.stream()
	stream.UID, stream.ResourceVersion = uidOf(i), "1"
	return stream
}

// crowd walks that world.
type crowd struct {
	arbiter *arbiter
	// uncounted has the manager decide without a reservation.
	uncounted bool
	yield     func(what string, next pair)
}

func (c *crowd) steps(p *pair) {
	for i := 1; i <= transferCount; i++ {
		r, name := p.registers[i], fmt.Sprintf("s%d", i)
		next := *p
		switch {
		case r.pending != 0:
			next.registers[i] = register{node: crowded, epoch: r.epoch + 1, state: 1, last: r.pending, closed: r.epoch}
			c.yield("the source completes the transfer of "+name, next)
		case r.state == 1:
			next.registers[i].state = 2
			c.yield("the owner opens "+name, next)
		}
		if p.views[i] != r {
			next = *p
			next.views[i] = r
			c.yield("manager sees "+name+": "+r.String(), next)
		}
		if p.left > 0 && p.outcomes[i] == undecided && !p.cancels[i] {
			next = *p
			next.left, next.cancels[i] = p.left-1, true
			c.yield("user cancels "+transfers[i].name, next)
		}
		c.manage(p, i)
	}
}

func (c *crowd) manage(p *pair, i int) {
	name, next := transfers[i].name, *p
	if p.reserved[i] {
		c.accept(p, i)
		return
	}
	d := c.decide(p, i, p.views[i])
	switch d.Action {
	case handoff.TransferAccept:
		if c.uncounted || p.ledger().Reserve(uidOf(i), nodeNames[crowded], 1) {
			next.reserved[i], next.acceptOn[i] = true, p.views[i]
			c.yield("manager reserves the slot for "+name, next)
		}
	case handoff.TransferWithdraw:
		if r, taken := c.arbiter.propose(proposal{server: p.registers[i], seen: p.views[i], step: "Withdraw"}, step(p.views[i], "Withdraw", 0, 0)); taken {
			next.registers[i], next.views[i] = r, r
			c.yield("manager withdraws "+name, next)
		}
	case handoff.TransferSucceed:
		next.outcomes[i] = succeeded
		c.yield(name+" succeeded", next)
	case handoff.TransferFail, handoff.TransferCancel:
		if c.decide(p, i, p.registers[i]).Action == d.Action {
			next.outcomes[i] = failed
			c.yield(name+" ended, and nothing moved: "+d.Reason, next)
		}
	case handoff.TransferWait, handoff.TransferTakeOver, handoff.TransferSettleLast, handoff.TransferFinished:
	}
}

// accept proposes, and ends the reservation, as controllers/streamtransfer does.
func (c *crowd) accept(p *pair, i int) {
	next := *p
	next.reserved[i], next.acceptOn[i] = false, register{}
	r, taken := c.arbiter.propose(proposal{server: p.registers[i], seen: p.acceptOn[i], step: "Accept", transfer: int8(i)},
		step(p.acceptOn[i], "Accept", int8(i), 0))
	what := "manager accepts " + transfers[i].name
	if !taken {
		next.views[i] = p.registers[i]
		c.yield(what+": refused; it reads the register afresh", next)
		return
	}
	next.registers[i] = r
	if p.losses > 0 {
		// Its outcome is not known: the slot stays reserved until the register was read afresh.
		lost := next
		lost.losses--
		lost.reserved[i], lost.acceptOn[i] = true, p.acceptOn[i]
		c.yield(what+", and gets no answer", lost)
	}
	next.views[i] = r
	c.yield(what, next)
}

func (c *crowd) decide(p *pair, i int, r register) handoff.TransferDecision {
	used := p.ledger().Usage(nodeNames[crowded]).Taken()
	if c.uncounted {
		used = 0
	}
	transfer := transferObject(int8(i), object{present, p.cancels[i], p.outcomes[i]})
	node := nodeObject(true)
	node.Spec.Slots = 1
	return handoff.DecideTransfer(handoff.TransferView{
		View:        admission.View{Transfer: transfer, Stream: r.stream(), Target: node, TargetUsed: used},
		LastSettled: true, Now: time.Unix(0, 0),
	})
}

// walkCrowd visits every state, and returns the first broken promise with its story.
func walkCrowd(c *crowd, losses, cancels int8) finding {
	transfers = crowding
	first := pair{losses: losses, left: cancels}
	for i, node := range []int8{0, 1, 3} {
		if i > 0 {
			first.registers[i] = register{node: node, epoch: 1, state: 2}
			first.views[i] = first.registers[i]
		}
	}
	c.arbiter.memory = map[proposal]answer{}
	ids, states, parents, lines := map[pair]int{first: 0}, []pair{first}, []int{-1}, []string{""}
	edges, current := 0, 0
	var problem string
	moves := map[int]bool{} // states that have a step
	c.yield = func(what string, next pair) {
		edges++
		moves[current] = true
		if _, known := ids[next]; !known {
			ids[next] = len(states)
			states, parents, lines = append(states, next), append(parents, current), append(lines, what)
		}
	}
	for ; current < len(states); current++ {
		p := states[current]
		if p.taken() > 1 {
			problem = "the node has more streams than slots"
			break
		}
		c.steps(&p)
		ended := p.outcomes[1] != undecided && p.outcomes[2] != undecided
		if !moves[current] && !ended {
			problem = "a transfer does not end"
			break
		}
	}
	f := finding{states: len(states), edges: edges, problem: problem}
	for at := current; problem != "" && at > 0; at = parents[at] {
		f.story = append([]string{lines[at]}, f.story...)
	}
	return f
}

func TestOneSlotFewerThanWanted(t *testing.T) {
	for name, bounds := range map[string]struct{ losses, cancels int8 }{
		"nothing goes wrong": {0, 0}, "two cancellations": {0, 2}, "two lost answers": {2, 0}, "one of each": {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			found := walkCrowd(&crowd{arbiter: must(newArbiter())}, bounds.losses, bounds.cancels)
			t.Log(found)
			if found.problem != "" {
				t.Error(found.problem)
			}
		})
	}
}

func TestASlotThatIsNotCountedIsFound(t *testing.T) {
	found := walkCrowd(&crowd{arbiter: must(newArbiter()), uncounted: true}, 0, 0)
	t.Log(found)
	if !strings.Contains(found.problem, "more streams than slots") {
		t.Errorf("found %q, want a node with more streams than slots", found.problem)
	}
}
