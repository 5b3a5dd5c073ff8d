// Package v1alpha1 is the API of Streamshift: streams, the nodes that own them, and the transfers of ownership between
// nodes.
//
// A Stream's status is the register: the only authority on who owns the stream. Its transition rules are written here
// as CEL and enforced by the API server against every writer. The package imports apimachinery only, and must hold no
// decision: those live in the internal packages.
//
// +kubebuilder:object:generate=true
// +groupName=streamshift.io
package v1alpha1
