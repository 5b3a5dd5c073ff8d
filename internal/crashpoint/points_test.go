package crashpoint

import (
	"testing"
)

func TestEveryPointHasItsOwnName(t *testing.T) {
	seen := map[Point]bool{}
	for _, point := range All() {
		if seen[point] {
			t.Errorf("%s is there twice", point)
		}
		seen[point] = true
	}
	t.Logf("%d points", len(seen))
	if len(seen) < 40 {
		t.Errorf("there are %d points, want more than 40", len(seen))
	}
}
