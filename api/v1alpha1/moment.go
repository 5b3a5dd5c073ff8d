package v1alpha1

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Moment is a time that people write: RFC 3339, such as 2030-01-31T12:00:00Z, with up to 9 digits behind the second. It is written with
// 6 of them, as the times are that components write for each other.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Format=date-time
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
type Moment struct {
	metav1.MicroTime `json:",inline"`
}

// NewMoment returns a moment, to the microsecond.
func NewMoment(at time.Time) Moment {
	return Moment{metav1.NewMicroTime(at.Truncate(time.Microsecond))}
}

// UnmarshalJSON implements json.Unmarshaler. The pattern above keeps the API server from taking what this refuses: a component that
// cannot decode one object of a list reads none of them.
func (m *Moment) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("reading a moment: %w", err)
	}
	if text == nil {
		*m = Moment{}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		return fmt.Errorf("reading a moment: %w", err)
	}
	*m = NewMoment(at.Local())
	return nil
}
