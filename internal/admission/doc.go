// Package admission says whether a transfer may be accepted, as plain functions. The webhook calls them when a user
// applies a transfer, the manager again before it accepts one: the webhook is for a quick, clear answer, the manager's
// look is what counts.
package admission
