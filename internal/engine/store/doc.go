// Package store is what the engine needs of an object store, and nothing more: objects that are created if absent and
// never changed, read whole or in part, deleted, and listed by tools.
//
// Create is the one operation that everything rests on: of any number of callers that create one key, at most one may
// ever succeed, and what it created is durable before Create returns. Probe puts a store to that test.
//
// The package must not know what the objects mean, must not overwrite an object, and must not retry: whether a failed
// call is repeated is for its caller to decide.
package store
