package rebalance

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	webhookadmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Validator answers kubectl apply of a StreamRebalance whose schedule makes no sense (config/webhook). It is only for a quick answer: what
// is let through, because no manager could be asked, fails by itself.
type Validator struct {
	Now func() time.Time
}

var _ webhookadmission.Validator[*v1alpha1.StreamRebalance] = &Validator{}

// SetupWithManager registers the webhook.
func (v *Validator) SetupWithManager(mgr ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(mgr, &v1alpha1.StreamRebalance{}).WithValidator(v).Complete(); err != nil {
		return fmt.Errorf("setting up the rebalance webhook: %w", err)
	}
	return nil
}

// ValidateCreate implements admission.Validator.
func (v *Validator) ValidateCreate(_ context.Context, object *v1alpha1.StreamRebalance) (webhookadmission.Warnings, error) {
	return nil, v.validate(object)
}

// ValidateUpdate implements admission.Validator. What was let in stays editable.
func (v *Validator) ValidateUpdate(_ context.Context, before, object *v1alpha1.StreamRebalance) (webhookadmission.Warnings, error) {
	if before.Spec.Schedule == object.Spec.Schedule && before.Spec.TimeZone == object.Spec.TimeZone {
		return nil, nil
	}
	return nil, v.validate(object)
}

// ValidateDelete implements admission.Validator; deletion is always allowed.
func (*Validator) ValidateDelete(context.Context, *v1alpha1.StreamRebalance) (webhookadmission.Warnings, error) {
	return nil, nil
}

func (v *Validator) validate(object *v1alpha1.StreamRebalance) error {
	_, invalid := nextRun(&object.Spec, v.Now())
	if invalid == nil {
		return nil
	}
	// kubectl prints the list, and nothing else of an error of this kind.
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("StreamRebalance").GroupKind(), object.Name, field.ErrorList{invalid})
}
