// Package kubectlstream is "kubectl stream", the plugin of kubectl for people who look after streams: it lists them, transfers
// them, drains nodes and says what everything waits for.
//
// Every command is a few requests to the API server, or to a gateway, and nothing else: it must not decide anything that the
// manager decides, nor write a status. Whatever it does can be done with kubectl apply, too, which is what "docs/gitops.md" and
// automation should do.
//
// What is shown comes from pure functions on the objects that were read (tables.go, describe.go, outcome.go, drainstate.go,
// progress.go); the other files read, write and print. Clock, identities, terminal and environment are given in Environment.
package kubectlstream
