package slots

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func version(uid types.UID, resourceVersion, owner, target string) *v1alpha1.Stream {
	stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: resourceVersion}, Status: v1alpha1.StreamStatus{Node: owner}}
	if target != "" {
		stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{Source: owner, Target: target}
	}
	return stream
}

func wantUsage(t *testing.T, ledger *Ledger, want map[string]Usage) {
	t.Helper()
	for node, usage := range want {
		if got := ledger.Usage(node); got != usage {
			t.Errorf("node %s: got %+v, want %+v", node, got, usage)
		}
	}
}

func TestATransferTakesASlotOnItsTargetFromItsAcceptanceOn(t *testing.T) {
	ledger := NewLedger()
	ledger.Observe(version("s", "1", "a", ""))
	wantUsage(t, ledger, map[string]Usage{"a": {Owned: 1}, "b": {}})
	ledger.Observe(version("s", "2", "a", "b"))
	wantUsage(t, ledger, map[string]Usage{"a": {Owned: 1}, "b": {Inbound: 1}})
	ledger.Observe(version("s", "3", "b", ""))
	wantUsage(t, ledger, map[string]Usage{"a": {}, "b": {Owned: 1}})
	ledger.Forget("s")
	wantUsage(t, ledger, map[string]Usage{"a": {}, "b": {}})
}

func TestAnOlderVersionThanTheOneCountedIsIgnored(t *testing.T) {
	ledger := NewLedger()
	ledger.Observe(version("s", "10", "a", "b")) // an own write
	ledger.Observe(version("s", "9", "a", ""))   // the watch is behind it
	wantUsage(t, ledger, map[string]Usage{"a": {Owned: 1}, "b": {Inbound: 1}})
}

func TestTheLastSlotIsReservedOnce(t *testing.T) {
	ledger := NewLedger()
	ledger.Observe(version("s1", "1", "a", ""))
	if !ledger.Reserve("s2", "a", 2) {
		t.Fatal("the second of two slots was refused")
	}
	if ledger.Reserve("s3", "a", 2) {
		t.Error("a third of two slots was given")
	}
	if ledger.Reserve("s2", "b", 2) {
		t.Error("a stream has two reservations")
	}
	ledger.Observe(version("s2", "5", "a", ""))
	ledger.Release("s2")
	wantUsage(t, ledger, map[string]Usage{"a": {Owned: 2}})
	if ledger.Reserve("s3", "a", 2) {
		t.Error("a slot was given that the reservation's step had taken")
	}
	ledger.Forget("s1")
	if !ledger.Reserve("s3", "a", 2) {
		t.Error("a slot that became free was refused")
	}
}
