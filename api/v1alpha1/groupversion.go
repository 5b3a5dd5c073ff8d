package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "streamshift.io", Version: "v1alpha1"}

// SchemeBuilder collects the functions that add this package's kinds to a scheme.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds this package's kinds to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Stream{}, &StreamList{},
		&StreamNode{}, &StreamNodeList{},
		&StreamTransfer{}, &StreamTransferList{},
		&StreamRebalance{}, &StreamRebalanceList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
