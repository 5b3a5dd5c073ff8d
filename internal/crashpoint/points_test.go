package crashpoint

import (
	"testing"
)

func TestEveryPointHasItsOwnName(t *testing.T) {
	all := All() // in order
	for i, point := range all {
		if i > 0 && all[i-1] == point {
			t.Errorf("%s is there twice", point)
		}
	}
	t.Logf("%d points", len(all))
	if len(all) < 40 {
		t.Errorf("there are %d points, want more than 40", len(all))
	}
}
