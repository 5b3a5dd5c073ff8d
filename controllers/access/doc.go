// Package access decides for a gateway who may do what to a stream: the API server is asked who a bearer token belongs to (TokenReview)
// and whether they may do it (SubjectAccessReview on streams.streamshift.io), so that one set of roles governs kubectl and data.
//
// Answers hold for a few seconds. What was allowed lately stays allowed while the API server cannot be asked, within a bound: streams go
// on without it, and so do their clients. The package must not read anything of a request but its Authorization header, and must not log
// what it reads.
package access
