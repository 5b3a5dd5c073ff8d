// Package cluster tests Streamshift on a real cluster of three nodes (test/kubelets): what users install, run by kubelets, reached through
// Services, drained by kubectl, killed, rolled out and upgraded while clients append and read.
//
// It runs where it is asked for (make test-cluster), since it takes minutes and root, and only where the machine allows it.
package cluster
