package main

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

// handful are the points whose crash every change has to survive: around the atomic step, the fence and the acknowledgement.
var handful = []crashpoint.Point{
	crashpoint.AfterStep("Accept"), crashpoint.AfterStep("Complete"), crashpoint.BeforeStep("Opened"),
	crashpoint.AfterCall("create-opening"), crashpoint.CloseReturned, crashpoint.FileLinked,
}

// TestAHandfulOfCrashes runs them on real processes; `make crash` runs all.
func TestAHandfulOfCrashes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	log.SetLogger(logr.Discard())
	chance := rand.New(rand.NewPCG(seed, 0))
	r, err := newRunner(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.bed.Stop(); err != nil {
			t.Error(err)
		}
	})
	for i, c := range cases(chance.IntN) {
		if !slices.Contains(handful, c.point) || c.deed == restarting {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			outcome, err := r.run(t.Context(), i, c)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(outcome)
		})
	}
}

func TestEveryPointHasACase(t *testing.T) {
	all := cases(func(int) int { return 0 })
	for _, point := range crashpoint.All() {
		if !slices.ContainsFunc(all, func(c crash) bool { return c.point == point }) {
			t.Errorf("nobody is ended at %s", point)
		}
	}
	for _, r := range []role{source, target, manager} {
		if !slices.ContainsFunc(all, func(c crash) bool { return c.role == r }) {
			t.Errorf("no %s is ended", r)
		}
	}
}
