package streamtransfer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhookadmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/admission"
)

// Validator answers kubectl apply of a StreamTransfer (config/webhook), and the manager itself about those that it is about to make.
// What it lets through is judged again before it is accepted.
type Validator struct {
	// Client reads from the cache; Live from the API server.
	Client client.Reader
	Live   client.Reader
	Views  *register.Streams
	Slots  *slots.Ledger
}

var _ webhookadmission.Validator[*v1alpha1.StreamTransfer] = &Validator{}

// SetupWithManager registers the webhook.
func (v *Validator) SetupWithManager(mgr ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(mgr, &v1alpha1.StreamTransfer{}).WithValidator(v).Complete(); err != nil {
		return fmt.Errorf("setting up the transfer webhook: %w", err)
	}
	return nil
}

// ValidateCreate implements admission.Validator. A refusal by the cache is believed only if the API server itself says
// the same: the cache may be behind the object that was applied a moment before.
func (v *Validator) ValidateCreate(ctx context.Context, transfer *v1alpha1.StreamTransfer) (webhookadmission.Warnings, error) {
	var refusal *admission.Refusal
	for _, reader := range []client.Reader{v.Client, v.Live} {
		view, err := admissionView(ctx, reader, v.Views, v.Slots, transfer)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		if refusal = admission.Transfer(view); refusal == nil {
			return warnings(view), nil
		}
	}
	return nil, refused(transfer, refusal)
}

// Validate returns why a transfer that is about to be made would be refused, as the API server would, or nil.
func (v *Validator) Validate(ctx context.Context, transfer *v1alpha1.StreamTransfer) error {
	_, err := v.ValidateCreate(ctx, transfer)
	return err
}

// ValidateUpdate implements admission.Validator; what may change is a rule of the schema.
func (v *Validator) ValidateUpdate(context.Context, *v1alpha1.StreamTransfer, *v1alpha1.StreamTransfer) (webhookadmission.Warnings, error) {
	return nil, nil
}

// ValidateDelete implements admission.Validator; deletion is always allowed.
func (v *Validator) ValidateDelete(context.Context, *v1alpha1.StreamTransfer) (webhookadmission.Warnings, error) {
	return nil, nil
}

func warnings(view admission.View) webhookadmission.Warnings {
	register := &view.Stream.Status
	switch pending := register.PendingTransfer; {
	case pending != nil:
		return webhookadmission.Warnings{fmt.Sprintf(
			"transfer %q takes stream %q to node %q already; this one follows it", pending.Name, view.Stream.Name, pending.Target)}
	case register.Node == view.Transfer.Spec.Target:
		return webhookadmission.Warnings{fmt.Sprintf("stream %q is on node %q already; there is nothing to do", view.Stream.Name, register.Node)}
	}
	if wanted := view.Stream.Spec.NodeName; wanted != "" && wanted != view.Transfer.Spec.Target {
		return webhookadmission.Warnings{fmt.Sprintf(
			"spec.nodeName of stream %q names node %q: the stream is brought there again; change or remove that first", view.Stream.Name, wanted)}
	}
	return nil
}

func refused(transfer *v1alpha1.StreamTransfer, refusal *admission.Refusal) error {
	resource := v1alpha1.GroupVersion.WithResource("streamtransfers").GroupResource()
	err := apierrors.NewForbidden(resource, transfer.Name, fmt.Errorf("%s", refusal.Message))
	err.ErrStatus.Message = refusal.Message
	return err
}
