package alerts

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

// rule is one alert of config/prometheus/alerts.yaml.
type rule struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
	For   string `json:"for"`
}

// step is how often rules are evaluated.
const step = time.Minute

// cases have, for each alert, series that raise it and series that look alike and do not. Each is one value a minute from minute 0 on, as
// Prometheus' own tests write them; wantAfter is the first minute at which it is raised.
var cases = map[string][]struct {
	name, series string
	wantAfter    int // -1: never, in the hour that is looked at
}{
	"StreamshiftNoManager": {
		{"no manager tells of a node", `up{pod="g"} 1x60`, 5},
		{"a manager tells of one that is gone", `streamshift_fleet_node_ready{node="a"} 0x60`, -1},
	},
	"StreamshiftNodeNotReady": {
		{"a node is gone", `streamshift_fleet_node_ready{node="a"} 1x9 0x60`, 15},
		{"a node was away for a moment", `streamshift_fleet_node_ready{node="a"} 1x9 0x3 1x60`, -1},
		{"every manager tells the same", "streamshift_fleet_node_ready{node=\"a\",pod=\"m1\"} 1x60\nstreamshift_fleet_node_ready{node=\"a\",pod=\"m2\"} 1x60", -1},
	},
	"StreamshiftStreamsNotServed": {
		{"a stream cannot be opened", `streamshift_fleet_not_ready_streams{reason="CannotOpen"} 0x9 1x60`, 12},
		{"a stream is being transferred", `streamshift_fleet_not_ready_streams{reason="Opening"} 0x9 1x1 0x60`, -1},
	},
	"StreamshiftFewSlots": {
		{"nearly all slots are taken", "streamshift_fleet_node_ready{node=\"a\"} 1x90\nstreamshift_fleet_node_slots{node=\"a\"} 100x90\nstreamshift_fleet_node_streams{node=\"a\"} 90x90", 15},
		{"slots of a node that is gone do not count", "streamshift_fleet_node_ready{node=\"a\"} 0x90\nstreamshift_fleet_node_ready{node=\"b\"} 1x90\n" +
			"streamshift_fleet_node_slots{node=\"a\"} 100x90\nstreamshift_fleet_node_slots{node=\"b\"} 100x90\n" +
			"streamshift_fleet_node_streams{node=\"a\"} 0x90\nstreamshift_fleet_node_streams{node=\"b\"} 90x90", 15},
		{"half of the slots are free", "streamshift_fleet_node_ready{node=\"a\"} 1x90\nstreamshift_fleet_node_slots{node=\"a\"} 100x90\nstreamshift_fleet_node_streams{node=\"a\"} 50x90", -1},
	},
	"StreamshiftTransfersFail": {
		{"transfers fail again and again", `streamshift_transfers_total{result="Failed",cause="Drain"} 0x9 1+1x60`, 16},
		{"transfers succeed", `streamshift_transfers_total{result="Succeeded",cause="Drain"} 0+5x90`, -1},
	},
	"StreamshiftSlowTransfers": {
		{"windows take seconds", "streamshift_transfer_window_seconds_bucket{le=\"1\"} 0x90\nstreamshift_transfer_window_seconds_bucket{le=\"5\"} 0+10x90\n" +
			"streamshift_transfer_window_seconds_bucket{le=\"+Inf\"} 0+10x90", 11},
		{"windows take milliseconds", "streamshift_transfer_window_seconds_bucket{le=\"0.05\"} 0+10x90\nstreamshift_transfer_window_seconds_bucket{le=\"1\"} 0+10x90\n" +
			"streamshift_transfer_window_seconds_bucket{le=\"+Inf\"} 0+10x90", -1},
	},
	"StreamshiftDrainBlocked": {
		{"streams cannot leave", `streamshift_drain_blocked_streams{node="a"} 0x9 2x60`, 20},
		{"the drain goes on", `streamshift_drain_blocked_streams{node="a"} 0x60`, -1},
	},
	"StreamshiftRebalanceFailed": {
		{"the latest plan of a nightly one failed", `streamshift_fleet_rebalances{phase="Failed",scheduled="true"} 0x9 1x60`, 15},
		{"the next plan follows at once", `streamshift_fleet_rebalances{phase="Stale",scheduled="true"} 0x9 1x3 0x60`, -1},
		{"one without a schedule failed, whose author has seen it",
			"streamshift_fleet_rebalances{phase=\"Failed\",scheduled=\"false\"} 1x60\nstreamshift_fleet_rebalances{phase=\"Succeeded\",scheduled=\"true\"} 1x60", -1},
	},
	"StreamshiftStoreErrors": {
		{"one request in ten fails", "streamshift_store_request_errors_total{pod=\"n\",operation=\"create\"} 0+6x90\n" +
			"streamshift_store_request_seconds_count{pod=\"n\",operation=\"create\"} 0+60x90", 6},
		{"no request fails", "streamshift_store_request_errors_total{pod=\"n\",operation=\"create\"} 0x90\n" +
			"streamshift_store_request_seconds_count{pod=\"n\",operation=\"create\"} 0+60x90", -1},
		{"there are no requests", "streamshift_store_request_errors_total{pod=\"n\",operation=\"create\"} 0x90\n" +
			"streamshift_store_request_seconds_count{pod=\"n\",operation=\"create\"} 0x90", -1},
	},
	"StreamshiftSlowStore": {
		{"flushes take seconds", "streamshift_store_request_seconds_bucket{pod=\"n\",operation=\"create\",le=\"1\"} 0x90\n" +
			"streamshift_store_request_seconds_bucket{pod=\"n\",operation=\"create\",le=\"2\"} 0+60x90\n" +
			"streamshift_store_request_seconds_bucket{pod=\"n\",operation=\"create\",le=\"+Inf\"} 0+60x90", 11},
		{"flushes take milliseconds", "streamshift_store_request_seconds_bucket{pod=\"n\",operation=\"create\",le=\"0.05\"} 0+60x90\n" +
			"streamshift_store_request_seconds_bucket{pod=\"n\",operation=\"create\",le=\"+Inf\"} 0+60x90", -1},
	},
	"StreamshiftRequestsRefused": {
		{"requests wait longer than they may", `streamshift_gateway_refused_requests_total{pod="g",limit="park_time"} 0x9 0+60x60`, 16},
		{"a single one did", `streamshift_gateway_refused_requests_total{pod="g",limit="park_time"} 0x9 1x60`, -1},
	},
}

func TestAlertsAreRaisedWhereTheyShallBe(t *testing.T) {
	engine := promqltest.NewTestEngine(t, false, 0, 100_000)
	for _, r := range readRules(t) {
		if len(cases[r.Alert]) < 2 {
			t.Errorf("%s has %d cases: it needs one that raises it and one that does not", r.Alert, len(cases[r.Alert]))
		}
		for _, c := range cases[r.Alert] {
			t.Run(r.Alert+": "+c.name, func(t *testing.T) {
				if got := raisedAfter(t, engine, r, c.series); got != c.wantAfter {
					t.Errorf("raised after minute %d, want %d", got, c.wantAfter)
				}
			})
		}
	}
}

func readRules(t *testing.T) []rule {
	t.Helper()
	content, err := os.ReadFile("../../config/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Spec struct {
			Groups []struct {
				Rules []rule `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &manifest); err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, group := range manifest.Spec.Groups {
		rules = append(rules, group.Rules...)
	}
	for alert := range cases {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.Alert == alert }) {
			t.Errorf("there is no alert %s", alert)
		}
	}
	return rules
}

// raisedAfter evaluates a rule once a minute for an hour and returns the first minute in which it has held for as long as it must.
func raisedAfter(t *testing.T, engine *promql.Engine, r rule, series string) int {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+indented(series))
	lasting, err := time.ParseDuration(r.For)
	if err != nil {
		t.Fatal(err)
	}
	since := -1
	for minute := range 60 {
		query, err := engine.NewInstantQuery(t.Context(), storage, nil, r.Expr, time.Unix(0, 0).Add(time.Duration(minute)*step))
		if err != nil {
			t.Fatal(err)
		}
		result := query.Exec(t.Context())
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		vector, err := result.Vector()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(vector) == 0:
			since = -1
		case since < 0:
			since = minute
		}
		if since >= 0 && time.Duration(minute-since)*step >= lasting {
			return minute
		}
		query.Close()
	}
	return -1
}

func indented(series string) string { return "  " + strings.ReplaceAll(series, "\n", "\n  ") + "\n" }
