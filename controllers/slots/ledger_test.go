package slots

import (
	"strconv"
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

// TestAStreamThatIsGoneTakesNoSlot: the watch tells that a stream is gone before somebody who was slow tells what was answered about it.
func TestAStreamThatIsGoneTakesNoSlot(t *testing.T) {
	for name, late := range map[string]func(*Ledger){
		"the answer to an own write":        func(l *Ledger) { l.Answer(version("s", "2", "a", "b")); l.Release("s") },
		"what a step in doubt came to":      func(l *Ledger) { l.Doubt("s"); l.Learn(version("s", "2", "a", "b")) },
		"a step in doubt, and nothing else": func(l *Ledger) { l.Doubt("s") },
	} {
		t.Run(name, func(t *testing.T) {
			ledger := NewLedger()
			ledger.Observe(version("s", "1", "a", ""))
			ledger.Reserve("s", "b", 1)
			ledger.Forget("s")
			late(ledger)
			wantUsage(t, ledger, map[string]Usage{"a": {}, "b": {}})
			ledger.Observe(version("s", "1", "a", ""))
			wantUsage(t, ledger, map[string]Usage{"a": {Owned: 1}, "b": {}})
		})
	}
}

func TestHowManyStreamsAreRememberedThatAreGone(t *testing.T) {
	ledger := NewLedger()
	for i := range rememberGone {
		ledger.Forget(types.UID(strconv.Itoa(i)))
	}
	ledger.Answer(version("0", "1", "a", ""))
	wantUsage(t, ledger, map[string]Usage{"a": {}})
	ledger.Forget("one more")
	ledger.Answer(version("0", "1", "a", ""))
	wantUsage(t, ledger, map[string]Usage{"a": {Owned: 1}})
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

// TestASlotInDoubtCountsUntilTheStreamIsKnown: the answer to a step got lost.
func TestASlotInDoubtCountsUntilTheStreamIsKnown(t *testing.T) {
	doubted := func(t *testing.T) *Ledger {
		t.Helper()
		ledger := NewLedger()
		ledger.Observe(version("s1", "1", "a", ""))
		if !ledger.Reserve("s1", "b", 1) {
			t.Fatal("the only slot was refused")
		}
		ledger.Doubt("s1")
		if ledger.Reserve("s2", "b", 1) {
			t.Error("a slot in doubt was given to another stream")
		}
		return ledger
	}
	for name, c := range map[string]struct {
		then func(*Ledger)
		want Usage
	}{
		"the same step is taken again":            {func(l *Ledger) { l.Reserve("s1", "b", 1) }, Usage{Reserved: 1}},
		"the stream is read, and it was taken":    {func(l *Ledger) { l.Learn(version("s1", "2", "a", "b")) }, Usage{Inbound: 1}},
		"the stream is read, and it was not":      {func(l *Ledger) { l.Learn(version("s1", "1", "a", "")) }, Usage{}},
		"the watch shows that it was taken":       {func(l *Ledger) { l.Observe(version("s1", "2", "a", "b")) }, Usage{Inbound: 1}},
		"the watch shows what was before":         {func(l *Ledger) { l.Observe(version("s1", "1", "a", "")) }, Usage{Reserved: 1}},
		"the stream is gone":                      {func(l *Ledger) { l.Forget("s1") }, Usage{}},
		"a step to another node is to be decided": {func(l *Ledger) { l.Reserve("s1", "c", 1) }, Usage{Reserved: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := doubted(t)
			c.then(ledger)
			wantUsage(t, ledger, map[string]Usage{"b": c.want})
		})
	}
}
