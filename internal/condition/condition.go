package condition

import (
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessageBytes is the API's limit on a condition's message.
const maxMessageBytes = 32768

// Condition is one statement about an object: what, whether it holds, why in one word, and one clear sentence.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// True says that a condition holds.
func True(conditionType, reason, message string) Condition {
	return Condition{conditionType, metav1.ConditionTrue, reason, message}
}

// False says that a condition does not hold.
func False(conditionType, reason, message string) Condition {
	return Condition{conditionType, metav1.ConditionFalse, reason, message}
}

// Unknown says that nobody knows whether a condition holds.
func Unknown(conditionType, reason, message string) Condition {
	return Condition{conditionType, metav1.ConditionUnknown, reason, message}
}

// Merge returns old with each of the set conditions added or replaced, the others kept in place. The time of the last
// transition is now where the status changed, and kept elsewhere. Old is not changed.
func Merge(old []metav1.Condition, generation int64, now metav1.Time, set ...Condition) []metav1.Condition {
	merged := append([]metav1.Condition(nil), old...)
	for _, c := range set {
		next := metav1.Condition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: limited(c.Message),
			ObservedGeneration: generation, LastTransitionTime: now,
		}
		at := index(merged, c.Type)
		if at < 0 {
			merged = append(merged, next)
			continue
		}
		if merged[at].Status == next.Status {
			next.LastTransitionTime = merged[at].LastTransitionTime
		}
		merged[at] = next
	}
	return merged
}

// Only returns the conditions of the set types, in the order of the set.
func Only(conditions []metav1.Condition, set []Condition) []metav1.Condition {
	only := make([]metav1.Condition, 0, len(set))
	for _, c := range set {
		if at := index(conditions, c.Type); at >= 0 {
			only = append(only, conditions[at])
		}
	}
	return only
}

// IsTrue tells whether a condition is there and holds.
func IsTrue(conditions []metav1.Condition, conditionType string) bool {
	at := index(conditions, conditionType)
	return at >= 0 && conditions[at].Status == metav1.ConditionTrue
}

// Get returns a condition, and whether it is there.
func Get(conditions []metav1.Condition, conditionType string) (metav1.Condition, bool) {
	if at := index(conditions, conditionType); at >= 0 {
		return conditions[at], true
	}
	return metav1.Condition{}, false
}

func index(conditions []metav1.Condition, conditionType string) int {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return i
		}
	}
	return -1
}

func limited(message string) string {
	if len(message) <= maxMessageBytes {
		return message
	}
	cut := maxMessageBytes
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut]
}
