package monitoring

import (
	"crypto/tls"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Flags are the command line's.
type Flags struct {
	address   string
	secure    bool
	profiling bool
}

// Bind adds the flags of a component's metrics.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "metrics-bind-address", ":8443", "where metrics are served; 0 for nowhere")
	flags.BoolVar(&f.secure, "metrics-secure", true,
		"serve metrics over TLS, and only to those whose role lets them get /metrics; off, whoever reaches the port reads them")
	flags.BoolVar(&f.profiling, "profiling", true,
		"serve profiles of the process at "+ProfilesPath+" beside the metrics, to those whose role lets them get that; never without --metrics-secure")
}

// Options are those of the server of metrics. Configure sets the certificate that it serves with; where it is nil, or sets none, the
// server makes one that nobody has signed.
func (f *Flags) Options(configure func(*tls.Config)) metricsserver.Options {
	options := metricsserver.Options{BindAddress: f.address}
	if !f.secure {
		return options
	}
	if f.profiling {
		options.ExtraHandlers = profileHandlers()
	}
	options.SecureServing = true
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }}
	if configure != nil {
		options.TLSOpts = append(options.TLSOpts, configure)
	}
	return options
}
