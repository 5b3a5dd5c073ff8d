// Package solo runs a process that serves streams without Kubernetes: the engine and the protocol of a node over one object
// store. Tests that kill a server hundreds of times, fill it with gigabytes or attack it use it where a control plane would only
// take time. It has no gateway and knows of no other process: who uses it numbers the epochs.
package solo
