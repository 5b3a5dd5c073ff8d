// Package tracing records what a transfer does, and what requests wait for, as OpenTelemetry spans.
//
// The parts of Streamshift do not call each other, so no call carries a trace from one to the next. What all of them see is the
// transfer: its UID is the trace's id, and the spans that others hang theirs below have ids that follow from it. So manager, source
// and target write one trace together without writing anything else. A transfer is sampled by its trace id alone, as if each of them
// had begun the trace: all come to the same.
//
// Every span is recorded when it is over. Nothing is recorded where no collector is configured: a nil *Tracer does nothing.
// No span has anything of a record, a header or a query. The package knows neither Kubernetes nor HTTP servers.
package tracing
