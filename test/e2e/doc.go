// Package e2e tests Streamshift as its users meet it: real processes on a real API server, streams by HTTP through the gateway,
// everything else by objects and kubectl. It knows nothing of the programs' insides.
package e2e
