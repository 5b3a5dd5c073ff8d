//go:build tools

// Package controlplane pins the commands of the control plane in go.mod.
package controlplane

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
