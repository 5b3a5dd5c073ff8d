// Package streamclient is a client of Durable Streams: it creates, appends to, reads, follows, closes and deletes streams
// over HTTP. It uses net/http alone.
//
// What is safe to repeat is repeated, with back-off, for as long as Options.RetryFor: reads, creation, deletion, appends
// that the server promises not to have applied, and everything a Producer sends. A plain append whose outcome nobody
// knows is never repeated: it fails with ErrOutcomeUnknown. Who wants appends exactly once uses a Producer.
//
// Options.Token says who asks, such as FileToken for a pod's service account; it is never sent without TLS.
//
// Errors of the server are of type *Error; errors.Is tells them apart by the Err... values of this package.
package streamclient
