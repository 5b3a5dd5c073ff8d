package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tally counts what was done and what came of it, by group and name.
type tally struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

func newTally() *tally { return &tally{counts: map[string]map[string]int{}} }

func (t *tally) add(group, name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[group] == nil {
		t.counts[group] = map[string]int{}
	}
	t.counts[group][name] += n
}

// String is one line a group.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	for _, group := range slices.Sorted(maps.Keys(t.counts)) {
		sum := 0
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(t.counts[group])) {
			sum += t.counts[group][name]
			parts = append(parts, fmt.Sprintf("%d %s", t.counts[group][name], name))
		}
		fmt.Fprintf(&text, "chaos: %s: %d (%s)\n", group, sum, strings.Join(parts, ", "))
	}
	return text.String()
}
