package streamtransfer

import (
	"os"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// A webhook that hangs must hold back nothing but what people ask for, and that not for long: not pods, nodes, leases, evictions, statuses or
// deletions, nothing of another group, and of a rebalance only the moment until it is let in unseen.
func TestTheWebhookCanHoldBackNothingButWhatPeopleAskFor(t *testing.T) {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	operations := map[string][]admissionregistrationv1.OperationType{"streamtransfers": {create}, "streamrebalances": {create, update}}
	policies := map[string]admissionregistrationv1.FailurePolicyType{
		"streamtransfers": admissionregistrationv1.Fail, "streamrebalances": admissionregistrationv1.Ignore,
	}
	content, err := os.ReadFile("../../config/webhook/validating.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var installed admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.Unmarshal(content, &installed); err != nil {
		t.Fatal(err)
	}
	if len(installed.Webhooks) == 0 {
		t.Fatal("no webhook is installed")
	}
	for _, hook := range installed.Webhooks {
		if hook.TimeoutSeconds == nil || *hook.TimeoutSeconds > 5 {
			t.Errorf("%s: its time limit is %v, want at most 5 s", hook.Name, hook.TimeoutSeconds)
		}
		for _, rule := range hook.Rules {
			if !slices.Equal(rule.APIGroups, []string{v1alpha1.GroupVersion.Group}) || len(rule.Resources) != 1 {
				t.Errorf("%s looks at %v of %v", hook.Name, rule.Resources, rule.APIGroups)
				continue
			}
			resource := rule.Resources[0]
			if !slices.Equal(rule.Operations, operations[resource]) {
				t.Errorf("%s looks at %v of %s, want %v", hook.Name, rule.Operations, resource, operations[resource])
			}
			if hook.FailurePolicy == nil || *hook.FailurePolicy != policies[resource] {
				t.Errorf("%s: its failure policy is %v, want %v", hook.Name, hook.FailurePolicy, policies[resource])
			}
		}
	}
}
