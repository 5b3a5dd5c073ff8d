// Package route feeds a gateway's routing table from watches of Streams and StreamNodes. It writes nothing to the API
// server: whatever is wrong with a stream is for its manager and its nodes to say.
package route
