package v1alpha1

// NodeLoad is what a node's streams do, averaged over some minutes. Numbers have two significant digits.
type NodeLoad struct {
	// BytesPerSecond that are appended.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`

	// RequestsPerSecond are appends and reads.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RequestsPerSecond int64 `json:"requestsPerSecond,omitempty"`

	// AppendMicros is how long an append takes on average, in microseconds; absent where there was none lately.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppendMicros int64 `json:"appendMicros,omitempty"`

	// Streams that do most, the first does most. The others do the rest.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Streams []StreamLoad `json:"streams,omitempty"`
}

// StreamLoad is what one stream does.
type StreamLoad struct {
	// Stream is namespace/name.
	// +kubebuilder:validation:MaxLength=512
	Stream string `json:"stream"`
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	// +optional
	RequestsPerSecond int64 `json:"requestsPerSecond,omitempty"`
}
