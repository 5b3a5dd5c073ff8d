package streamtransfer

import (
	"os"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// A webhook that hangs must hold back nothing but new transfers, and those not for long: not pods, nodes, leases, evictions,
// statuses or deletions, and nothing of another group.
func TestTheWebhookCanHoldBackNothingButNewTransfers(t *testing.T) {
	content, err := os.ReadFile("../../config/webhook/transfers.yaml")
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
		if hook.FailurePolicy == nil || hook.TimeoutSeconds == nil || *hook.TimeoutSeconds > 5 {
			t.Errorf("%s: failure policy %v and time limit %v must be given, at most 5 s", hook.Name, hook.FailurePolicy, hook.TimeoutSeconds)
		}
		for _, rule := range hook.Rules {
			for _, group := range rule.APIGroups {
				if group != v1alpha1.GroupVersion.Group {
					t.Errorf("%s looks at group %q", hook.Name, group)
				}
			}
			for _, resource := range rule.Resources {
				if resource != "streamtransfers" {
					t.Errorf("%s looks at %s", hook.Name, resource)
				}
			}
			for _, operation := range rule.Operations {
				if operation != admissionregistrationv1.Create {
					t.Errorf("%s looks at %s", hook.Name, operation)
				}
			}
		}
	}
}
