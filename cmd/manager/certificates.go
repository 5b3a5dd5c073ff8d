package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/controllers/certificates"
	"github.com/streamshift/streamshift/internal/pki"
)

// Values of --certificates.
const (
	certificatesOwn      = "Own"
	certificatesExternal = "External"
)

// certificateOptions are the command line's for certificates.
type certificateOptions struct {
	from         string
	settings     pki.Settings
	gatewayNames []string
}

func (o *certificateOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.from, "certificates", certificatesOwn,
		"who makes the certificates of webhook, gateways and agents: Own, an authority of this installation; External, somebody else, "+
			"such as cert-manager, into Secrets of the same names")
	flags.DurationVar(&o.settings.Certificate, "certificate-validity", 30*24*time.Hour, "for how long a certificate is valid; renewed when a third is left")
	flags.DurationVar(&o.settings.Authority, "authority-validity", 365*24*time.Hour,
		"for how long the authority is valid, at least four times as long as a certificate; half way through it is followed by the next one")
	flags.DurationVar(&o.settings.Settle, "authority-settle", time.Hour,
		"for how long a new authority is trusted before it signs: until everybody has heard of it; an eighth of its life at most")
	flags.StringSliceVar(&o.gatewayNames, "gateway-dns-names", nil, "further DNS names of gateways, such as that of their load balancer")
}

// add has certificates made, on the leader, and the webhook's served, on every replica. Direct has no cache.
func (o *certificateOptions) add(mgr ctrl.Manager, direct client.Client, namespace string, serving *certificates.Serving) error {
	if err := o.settings.Check(); err != nil {
		return fmt.Errorf("reading --certificate-validity and --authority-validity: %w", err)
	}
	serving.Reader, serving.Namespace, serving.Settings, serving.Log = direct, namespace, o.settings, mgr.GetLogger().WithName("certificates")
	if err := mgr.Add(serving); err != nil {
		return fmt.Errorf("adding the webhook's certificate: %w", err)
	}
	switch o.from {
	case certificatesExternal:
		return nil
	case certificatesOwn:
		keeper := &certificates.Keeper{
			Client: direct, Namespace: namespace, Settings: o.settings, GatewayNames: o.gatewayNames, Now: time.Now,
			Log: mgr.GetLogger().WithName("certificates"),
		}
		if err := mgr.Add(keeper); err != nil {
			return fmt.Errorf("adding the authority: %w", err)
		}
		return nil
	}
	return fmt.Errorf("--certificates is %q: choose %s or %s", o.from, certificatesOwn, certificatesExternal)
}
