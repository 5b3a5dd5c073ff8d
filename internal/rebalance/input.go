package rebalance

// Load of a stream.
type Load struct {
	// Bytes appended, and requests, a second.
	Bytes, Requests float64
}

// Weights say how much each kind of load counts; at least one is above 0. Each kind is taken as a share of its total, so
// that the weights compare like with like.
type Weights struct {
	Bytes, Requests, Count float64
}

// Role says what a node does in a plan.
type Role int

const (
	// GivesAndTakes is the role of a node that is well.
	GivesAndTakes Role = iota + 1
	// Gives is the role of a node that should get no streams now, but may lose some.
	Gives
	// Outside is the role of a node that takes no part: its streams stay or are somebody else's business.
	Outside
)

// Node is what a plan knows of a node.
type Node struct {
	Name string
	// Slots that the node has, and how many are taken: owned streams, and pending transfers to the node.
	Slots, Used int
	Role        Role
	// Zone that the node is in; used where streams keep to their zone.
	Zone string
	// Labels, for the streams' node selectors.
	Labels map[string]string
}

// Stream is what a plan knows of a stream.
type Stream struct {
	// ID names the stream; unique.
	ID string
	// Node is the owner.
	Node string
	Load Load
	// Selector has the labels that the stream's node must have.
	Selector map[string]string
	// Fixed says that the stream is not to be transferred; its load counts.
	Fixed bool
}

// Zones says whether a transfer may leave the zone.
type Zones int

const (
	// AcrossZones evens out over all nodes.
	AcrossZones Zones = iota + 1
	// WithinZones evens out each zone by itself.
	WithinZones
)

// Settings of a plan.
type Settings struct {
	Weights Weights
	Zones   Zones
	// Threshold is the distance from the fair share, as a part of it, beyond which a node is uneven: 0.1 is 10 %.
	Threshold float64
	// MaxMoves bounds the plan.
	MaxMoves int
	// MaxMovesPerNode bounds the moves from one node, and to one node; 0: no bound.
	MaxMovesPerNode int
}

// goal is the distance from the fair share that a plan works towards.
func (s *Settings) goal() float64 { return s.Threshold / 2 }

// Move is one transfer of a plan.
type Move struct {
	Stream, Source, Target string
}

// End says why a plan has no more moves.
type End int

const (
	// WithinThreshold: nothing is uneven enough to begin.
	WithinThreshold End = iota + 1
	// Even: every node is within half of the threshold.
	Even
	// NoBetterMove: something is uneven, but no move that is allowed makes it better.
	NoBetterMove
	// AtLimit: more moves would help, and the limits do not allow them in this plan.
	AtLimit
)

// String implements fmt.Stringer: half a sentence for people.
func (e End) String() string {
	switch e {
	case WithinThreshold:
		return "every node is within the threshold"
	case Even:
		return "afterwards every node is within half of the threshold"
	case NoBetterMove:
		return "no further move that is allowed makes the load more even"
	case AtLimit:
		return "the limits of one plan are reached, and more moves would help"
	}
	return "unknown"
}

// Plan is the moves, in the order of their use, and what they are good for.
type Plan struct {
	Moves []Move
	// Before and After are the largest distance of a node from its fair share, as a part of it.
	Before, After float64
	End           End
}
