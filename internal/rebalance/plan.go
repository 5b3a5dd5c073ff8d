package rebalance

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// rounding is a difference that means nothing.
const rounding = 1e-9

// Make returns the plan for nodes and their streams. Streams of nodes that are not given, or are Outside, are left out.
// Moves may run at the same time: none counts on a slot that another one frees.
func Make(nodes []Node, streams []Stream, settings Settings) Plan {
	p := prepare(nodes, streams, settings)
	plan := Plan{Before: p.imbalance(), End: WithinThreshold}
	plan.After = plan.Before
	if plan.Before <= settings.Threshold {
		return plan
	}
	if p.small() {
		plan.End = p.search()
	} else {
		plan.End = p.climb()
	}
	plan.Moves, plan.After = p.moves, p.imbalance()
	return plan
}

// site is a node while a plan is made.
type site struct {
	Node
	capacity float64
	load     float64
	// group is the index of the nodes among which load is evened out.
	group   int
	in, out int
	// classes are the node's streams that may leave it, by what they ask of a node.
	classes []*class
}

// class is streams of one node that ask the same of their next one, the lightest first.
type class struct {
	key      string
	selector map[string]string
	streams  []item
}

type item struct {
	id     string
	weight float64
}

type planner struct {
	settings Settings
	sites    []*site
	// fair is the load per slot at which a group is even.
	fair []float64
	// streams is the number of streams on the sites.
	streams int
	moves   []Move
}

func prepare(nodes []Node, streams []Stream, settings Settings) *planner {
	p := &planner{settings: settings}
	byName, groups := map[string]*site{}, map[string]int{}
	sorted := slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, node := range sorted {
		if node.Role == Outside || node.Slots <= 0 {
			continue
		}
		zone := ""
		if settings.Zones == WithinZones {
			zone = node.Zone
		}
		if _, known := groups[zone]; !known {
			groups[zone] = len(groups)
		}
		s := &site{Node: node, capacity: float64(node.Slots), group: groups[zone]}
		byName[node.Name] = s
		p.sites = append(p.sites, s)
	}
	p.fill(byName, streams)
	p.scale()
	p.settleGroups(len(groups))
	return p
}

// fill puts the streams onto their sites.
func (p *planner) fill(byName map[string]*site, streams []Stream) {
	weigh := weigher(p.settings.Weights, byName, streams)
	for i := range streams {
		stream := &streams[i]
		s := byName[stream.Node]
		if s == nil {
			continue
		}
		p.streams++
		weight := weigh(stream.Load)
		s.load += weight
		if !stream.Fixed {
			s.add(stream.Selector, item{id: stream.ID, weight: weight})
		}
	}
	for _, s := range p.sites {
		slices.SortFunc(s.classes, func(a, b *class) int { return cmp.Compare(a.key, b.key) })
		for _, c := range s.classes {
			slices.SortFunc(c.streams, func(a, b item) int {
				return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.id, b.id))
			})
		}
	}
}

func (s *site) add(selector map[string]string, it item) {
	key := keyOf(selector)
	at := slices.IndexFunc(s.classes, func(c *class) bool { return c.key == key })
	if at < 0 {
		at = len(s.classes)
		s.classes = append(s.classes, &class{key: key, selector: selector})
	}
	s.classes[at].streams = append(s.classes[at].streams, it)
}

func keyOf(selector map[string]string) string {
	var key strings.Builder
	for _, label := range slices.Sorted(maps.Keys(selector)) {
		key.WriteString(label + "=" + selector[label] + "\x00")
	}
	return key.String()
}

// scale makes the mean capacity 1, as the mean weight of a stream is: rounding is then far below every gain.
func (p *planner) scale() {
	total := 0.0
	for _, s := range p.sites {
		total += s.capacity
	}
	for _, s := range p.sites {
		s.capacity *= float64(len(p.sites)) / total
	}
}

// weigher returns the load that a stream carries; the mean stream's is 1. A kind of load that nobody has counts nothing.
func weigher(weights Weights, byName map[string]*site, streams []Stream) func(Load) float64 {
	var total Load
	count := 0.0
	for i := range streams {
		if byName[streams[i].Node] == nil {
			continue
		}
		total.Bytes += streams[i].Load.Bytes
		total.Requests += streams[i].Load.Requests
		count++
	}
	part := func(weight, total float64) float64 {
		if total <= 0 {
			return 0
		}
		return weight
	}
	bytes, requests, number := part(weights.Bytes, total.Bytes), part(weights.Requests, total.Requests), part(weights.Count, count)
	sum := bytes + requests + number
	if sum <= 0 {
		return func(Load) float64 { return 0 }
	}
	scale := func(weight, total float64) float64 {
		if weight <= 0 {
			return 0
		}
		return weight / sum * count / total
	}
	perByte, perRequest, perStream := scale(bytes, total.Bytes), scale(requests, total.Requests), scale(number, count)
	return func(load Load) float64 { return load.Bytes*perByte + load.Requests*perRequest + perStream }
}

// settleGroups computes what is fair in each group. A node that only gives, and carries less than its fair share, cannot be
// brought nearer to it: it takes no part.
func (p *planner) settleGroups(groups int) {
	for again := true; again; {
		load, capacity := make([]float64, groups), make([]float64, groups)
		for _, s := range p.sites {
			load[s.group] += s.load
			capacity[s.group] += s.capacity
		}
		p.fair = make([]float64, groups)
		for g := range p.fair {
			if capacity[g] > 0 {
				p.fair[g] = load[g] / capacity[g]
			}
		}
		before := len(p.sites)
		p.sites = slices.DeleteFunc(p.sites, func(s *site) bool { return s.Role == Gives && p.distance(s, s.load) < -rounding })
		again = len(p.sites) < before
	}
}

// distance is how far a load is from a site's fair share, as a part of it: above 0 is too much.
func (p *planner) distance(s *site, load float64) float64 {
	fair := p.fair[s.group]
	if fair <= 0 {
		return 0
	}
	return load/s.capacity/fair - 1
}

// imbalance is the largest distance of a site.
func (p *planner) imbalance() float64 {
	largest := 0.0
	for _, s := range p.sites {
		largest = max(largest, math.Abs(p.distance(s, s.load)))
	}
	return largest
}

// gives tells whether a site may be left with this load: one that only gives, gives what it has too much.
func (p *planner) gives(s *site, load float64) bool {
	return s.Role != Gives || p.distance(s, load) >= -rounding
}

// fits tells whether streams with this selector may come to a site that has a free slot.
func (s *site) fits(selector map[string]string) bool {
	for label, value := range selector {
		if s.Labels[label] != value {
			return false
		}
	}
	return s.Role == GivesAndTakes
}

// full tells whether a site has no free slot for one more stream, even once this plan's own moves have freed theirs.
func (s *site) full() bool { return s.Used+s.in-s.out >= s.Slots }

// atLimit tells whether this plan may have no more moves from the one site to the other.
func (p *planner) atLimit(from, to *site) bool {
	limit := p.settings.MaxMovesPerNode
	return len(p.moves) >= p.settings.MaxMoves || to.Used+to.in >= to.Slots || limit > 0 && (from.out >= limit || to.in >= limit)
}

func (p *planner) apply(from, to *site, it item) {
	p.moves = append(p.moves, Move{Stream: it.id, Source: from.Name, Target: to.Name})
	from.load -= it.weight
	to.load += it.weight
	from.out++
	to.in++
}
