// Package monitoring serves a component's metrics, and the pages that go with them, to those who may read them: over TLS, to
// callers whom the API server knows by their token (TokenReview) and whose role lets them get the path (SubjectAccessReview).
// Each component has it. It must not know what is shown.
package monitoring
