package condition

import (
	"fmt"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// OfStream says what a register means to people: Ready and TransferInProgress. They follow from the register alone, so
// that each step writes them together with itself.
func OfStream(register *v1alpha1.StreamStatus) []Condition {
	return []Condition{streamReady(register), transferInProgress(register)}
}

func streamReady(register *v1alpha1.StreamStatus) Condition {
	if register.Node == "" {
		return False(v1alpha1.ConditionReady, v1alpha1.ReasonNotPlaced, "The stream has no owner yet.")
	}
	switch register.State {
	case v1alpha1.StreamOpen:
		return True(v1alpha1.ConditionReady, v1alpha1.ReasonOpen, fmt.Sprintf("Node %s serves the stream at epoch %d.", register.Node, register.Epoch))
	case v1alpha1.StreamClosed:
		return False(v1alpha1.ConditionReady, v1alpha1.ReasonClosed, fmt.Sprintf("Node %s closed the stream at epoch %d.", register.Node, register.Epoch))
	case v1alpha1.StreamOpening:
		return False(v1alpha1.ConditionReady, v1alpha1.ReasonOpening, fmt.Sprintf("Node %s opens the stream at epoch %d.", register.Node, register.Epoch))
	}
	return Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonNotPlaced, fmt.Sprintf("The register has the unknown state %q.", register.State))
}

func transferInProgress(register *v1alpha1.StreamStatus) Condition {
	if pending := register.PendingTransfer; pending != nil {
		return True(v1alpha1.ConditionTransferInProgress, v1alpha1.ReasonTransferPending,
			fmt.Sprintf("Transfer %s hands the stream from %s to %s.", pending.Name, pending.Source, pending.Target))
	}
	return False(v1alpha1.ConditionTransferInProgress, v1alpha1.ReasonNoTransfer, "No transfer is pending.")
}
