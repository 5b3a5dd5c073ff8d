package session

import (
	"testing"

	"github.com/streamshift/streamshift/internal/engine/store"
)

func TestAnAgentIsReadyOnceItsStoreHasPassedTheTest(t *testing.T) {
	objects, err := store.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	e := &StoreEngine{Store: objects}
	if err := e.Ready(nil); err == nil {
		t.Error("it is ready before the test")
	}
	if err := e.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Ready(nil); err != nil {
		t.Errorf("it is not ready after the test: %v", err)
	}
}
