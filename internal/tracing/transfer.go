package tracing

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Part is a span of a transfer that others hang theirs below.
type Part string

// Parts of a transfer. Whole is the root, which the manager records when the transfer has ended; AtSource and AtTarget are what
// the two nodes do about it.
const (
	Whole    Part = "transfer"
	AtSource Part = "transfer at source"
	AtTarget Part = "transfer at target"
)

// uidDigits is how many hexadecimal digits a UID and a trace id have.
const uidDigits = 32

// Part returns the identity of a part of the transfer with this UID: the same for everybody, whenever they ask. It is not valid
// where nothing is recorded, or where the UID is none that Kubernetes gives.
func (t *Tracer) Part(uid string, part Part) trace.SpanContext {
	if t == nil {
		return trace.SpanContext{}
	}
	digits := strings.ReplaceAll(uid, "-", "")
	id, err := hex.DecodeString(digits)
	if err != nil || len(digits) != uidDigits {
		return trace.SpanContext{}
	}
	hash := sha256.Sum256([]byte(digits + "/" + string(part)))
	ids := trace.SpanContextConfig{TraceID: trace.TraceID(id), SpanID: trace.SpanID(hash[:8]), Remote: true}
	if t.samples(ids.TraceID) {
		ids.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(ids)
}
