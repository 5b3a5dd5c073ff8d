package metrics

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/yaml"
)

// mentioned finds metrics of Streamshift in an expression.
var mentioned = regexp.MustCompile(`streamshift_[a-z_]+`)

func TestMetricsKeepTheConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(everything(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	names := everything(t).names
	for _, path := range []string{"../../config/grafana/streamshift.json", "../../config/prometheus/alerts.yaml"} {
		found := metricsIn(t, path)
		if len(found) < 5 {
			t.Errorf("%s names only %v: does it say it otherwise now?", path, found)
		}
		for name := range found {
			if !names[name] {
				t.Errorf("%s names %s, which no component has", path, name)
			}
		}
	}
}

func TestTheDashboardShowsEveryMetric(t *testing.T) {
	shown := metricsIn(t, "../../config/grafana/streamshift.json")
	for name := range everything(t).names {
		if !shown[name] && name != "streamshift_fleet_node_ready" {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// metricsIn returns the metrics that a file names, without the suffixes of a histogram's parts.
func metricsIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range mentioned.FindAllString(string(content), -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		found[name] = true
	}
	return found
}

func TestEveryAlertHasASectionThatSaysWhatAPersonCanDo(t *testing.T) {
	content, err := os.ReadFile("../../config/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert       string            `json:"alert"`
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &manifest); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/operations/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	rules := manifest.Spec.Groups[0].Rules
	if len(rules) < 5 {
		t.Fatalf("there are only %d alerts", len(rules))
	}
	for _, rule := range rules {
		if !strings.Contains(sections[rule.Alert], "What you can do: ") {
			t.Errorf("docs/operations/alerts.md does not say what a person can do about %s", rule.Alert)
		}
		if want := fmt.Sprintf("docs/operations/alerts.md#%s", strings.ToLower(rule.Alert)); rule.Annotations["runbook"] != want {
			t.Errorf("%s leads to %q, want %q", rule.Alert, rule.Annotations["runbook"], want)
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has severity %q", rule.Alert, severity)
		}
	}
}
