package statusz

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func TestThePageSaysWhatGoesOn(t *testing.T) {
	_, page := get(t, handlerOf(busy()), http.MethodGet, Path)
	seen, short := text(page), true
	for _, want := range []string{
		"2026-11-30 12:00:00 UTC · manager manager-1, which does not lead",
		"242 streams 2 wait for a node 3 / 4 nodes ready 241 / 360 slots taken 3 transfers in flight 1 failed transfers kept 1 nodes drain",
		// Whoever waits longest comes first.
		"orders/payments node-c Opening 3 1 min 35 s CannotOpen Node node-c cannot open the stream: reading segment 17: access denied. orders/returns none yet 0 12.0 s NoEligibleNode",
		// The oldest transfer first; the timeline of a young one is in the register.
		"orders/to-node-d eu-005 ? → node-d User 1 min 11 s accepted stopped flushed committed open waits for transfer drain-7, which takes the stream to node-b already",
		"orders/drain-7 eu-001 node-c → node-b Drain 1.0 s accepted +100 ms stopped +20 ms flushed +10 ms committed +10 ms open",
		"orders/rebalance-1 eu-000 node-a → node-b Rebalance 1.0 s accepted +200 ms stopped flushed committed open",
		// What needs attention first: a node that is gone, one that drains, the others.
		"node-d not ready 0 of 120 0 The agent has not renewed its lease for 41 s. node-c drains 81 of 120 0 39 of 120 have left, 14.0 s to go 1 cannot leave The Kubernetes node is cordoned. " +
			"orders/payments: The stream is not open. node-a ready 80 of 120 0 node-b ready 80 of 120 1",
		"orders/nightly Executing 11 of 36, 1 skipped 2 h 0 min 11 of 36 moves have ended",
		"orders/drain-done-00 s node-a → node-b User 2.0 s Succeeded drain 8 ms commit 10 ms open 12 ms 30 ms",
		"26 more are not shown.",
	} {
		if !strings.Contains(seen, want) {
			t.Errorf("the page does not say %q", want)
			short = false
		}
	}
	if !short {
		t.Logf("it says %s", seen)
	}
}

func TestAnEmptyClusterHasAPage(t *testing.T) {
	h := handlerOf(&world{})
	leading := make(chan struct{})
	close(leading)
	h.Elected = leading
	response, page := get(t, h, http.MethodGet, Path)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	for _, want := range []string{"which leads", "every stream is served", "No agent has registered"} {
		if !strings.Contains(page, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

func TestRowsAreBounded(t *testing.T) {
	for count, wantMore := range map[int]bool{maxStreams: false, maxStreams + 1: true} {
		w := &world{}
		for i := range count {
			w.streams.Items = append(w.streams.Items, newStream(fmt.Sprintf("s-%d", i), "", conditionOf(v1alpha1.ConditionReady, metav1.ConditionFalse, "NotPlaced", "", -1)))
		}
		_, page := get(t, handlerOf(w), http.MethodGet, Path)
		if rows := strings.Count(page, `<td class="name">orders/s-`); rows != maxStreams {
			t.Errorf("of %d streams %d are shown, want %d", count, rows, maxStreams)
		}
		if more := strings.Contains(page, "1 more are not shown"); more != wantMore {
			t.Errorf("of %d streams it says that there are more: %t, want %t", count, more, wantMore)
		}
	}
}

func TestWhatObjectsSayIsText(t *testing.T) {
	const hostile = `</td><script>alert(1)</script><img src=x onerror="alert(2)">`
	w := busy()
	w.streams.Items[240].Status.Conditions[0].Message = hostile
	w.nodes.Items[3].Status.Conditions[0].Message = hostile
	w.nodes.Items[2].Status.Drain.Blockers[0].Message = hostile
	w.transfers.Items[2].Status.WaitingFor = hostile
	w.rebalances.Items[0].Status.Conditions[0].Message = hostile
	w.transfers.Items[0].Labels = map[string]string{v1alpha1.LabelCause: hostile}
	_, page := get(t, handlerOf(w), http.MethodGet, Path+"?refresh=%3Cscript%3E")
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
		t.Error("it became a part of the page")
	}
	if got := strings.Count(page, "&lt;script&gt;alert(1)"); got != 6 {
		t.Errorf("it is shown %d times, want 6", got)
	}
}

func TestABrowserMayUseThePagesOwnStyleAndNothingElse(t *testing.T) {
	response, page := get(t, handlerOf(busy()), http.MethodGet, Path)
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if diff := cmp.Diff(want, response.Header.Get("Content-Security-Policy")); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	for _, foreign := range []string{"http://", "https://", "style=", "src=", "url("} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestThePageIsOnlyLookedAt(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		if response, _ := get(t, handlerOf(busy()), method, Path); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s gets %d", method, response.StatusCode)
		}
	}
	response, body := get(t, handlerOf(busy()), http.MethodHead, Path)
	if response.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD gets %d with %d bytes", response.StatusCode, len(body))
	}
}

func TestRefreshIsBounded(t *testing.T) {
	for asked, want := range map[string]string{"5": `content="5"`, "600": `content="600"`, "601": `content="600"`} {
		if _, page := get(t, handlerOf(&world{}), http.MethodGet, Path+"?refresh="+asked); !strings.Contains(page, `http-equiv="refresh" `+want) {
			t.Errorf("refresh=%s is not %s", asked, want)
		}
	}
	for _, asked := range []string{"", "0", "-1", "x"} {
		if _, page := get(t, handlerOf(&world{}), http.MethodGet, Path+"?refresh="+asked); strings.Contains(page, "http-equiv") {
			t.Errorf("refresh=%q refreshes", asked)
		}
	}
}

func TestACacheThatCannotBeReadIsSaid(t *testing.T) {
	h := handlerOf(nil)
	h.Client = cached{err: errors.New("secret detail")}
	response, page := get(t, h, http.MethodGet, Path)
	if response.StatusCode != http.StatusServiceUnavailable || strings.Contains(page, "secret") {
		t.Errorf("status %d, %q", response.StatusCode, page)
	}
}

func TestAWindowOfTwoClocksStaysInItsPicture(t *testing.T) {
	transfer := ended("t", -1)
	transfer.Status.OpenedAt = at(-1.025) // by a clock that is behind
	transfer.Status.Window = &metav1.Duration{Duration: 5 * time.Millisecond}
	for _, p := range showEnded(&transfer, noon).Bar {
		if p.X < 0 || p.Width < 0 || p.X+p.Width > barWidth {
			t.Errorf("%+v is not within %d", p, barWidth)
		}
	}
}
