// Package gateway is what clients of streams talk to. It is stateless: any number of gateways serve the same streams, and
// each of them can end at any moment.
//
// A gateway hides that streams have owners. Per request it holds the body in memory, waits while no node can serve the
// stream, forwards, follows the answers by which nodes send requests on, and repeats what may be repeated: everything that
// a node promises not to have applied, and, where a connection broke, every request whose repetition is harmless. A plain
// append whose outcome is unknown is answered as such and never repeated. Event streams are carried on at the new owner
// inside the same connection of the client.
//
// The package must not know Kubernetes (a routing.Table tells it where streams are), must not keep a queue that two
// streams share, and must not let a header between gateways and nodes pass in or out.
package gateway
