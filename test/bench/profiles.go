package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	// profileDuration is for how long processor profiles are taken.
	profileDuration = 10 * time.Second
	profileAccount  = "profile-reader"
)

// profiler takes processor profiles of everything but etcd, into a folder: node-a.pprof, kube-apiserver.pprof, ...
type profiler struct {
	cluster *localcluster.Cluster
	folder  string
	token   string
	taken   bool
}

func newProfiler(ctx context.Context, cluster *localcluster.Cluster, folder string) (*profiler, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of profiles: %w", err)
	}
	token, err := cluster.Token(ctx, localcluster.TokenOptions{Namespace: localcluster.SystemNamespace, Account: profileAccount})
	if err != nil {
		return nil, err
	}
	if err := cluster.GrantEverywhere(ctx, "streamshift-profile-reader", profileAccount); err != nil {
		return nil, err
	}
	return &profiler{cluster: cluster, folder: folder, token: token}, nil
}

// start profiles all processes at the same time, the first time that it is called, and returns what waits until that has been done.
func (p *profiler) start(ctx context.Context) (wait func() error) {
	if p.taken {
		return func() error { return nil }
	}
	p.taken = true
	processes := p.cluster.Processes()
	results := make(chan error, len(processes))
	for _, process := range processes {
		go func() { results <- p.takeOne(ctx, process) }()
	}
	return func() error {
		var errs []error
		for range processes {
			errs = append(errs, <-results)
		}
		return errors.Join(errs...)
	}
}

func (p *profiler) takeOne(ctx context.Context, process *localcluster.Process) error {
	url, client, token := strings.TrimSuffix(process.MetricsURL(), "/metrics"), insecureClient(), p.token
	switch process {
	case p.cluster.Etcd():
		return nil
	case p.cluster.APIServer():
		own, err := rest.HTTPClientFor(p.cluster.RESTConfig())
		if err != nil {
			return fmt.Errorf("making a client: %w", err)
		}
		url, client, token = p.cluster.RESTConfig().Host, own, ""
	}
	// The API server has them where our programs do.
	url = fmt.Sprintf("%s%sprofile?seconds=%d", url, monitoring.ProfilesPath, int(profileDuration.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("taking a profile of %s: %w", process.Name(), err)
	}
	defer response.Body.Close()
	profile, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the profile of %s: %w", process.Name(), err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("taking a profile of %s: %s: %.200s", process.Name(), response.Status, profile)
	}
	if err := os.WriteFile(filepath.Join(p.folder, process.Name()+".pprof"), profile, 0o644); err != nil { //nolint:gosec // a profile is no secret
		return fmt.Errorf("writing the profile of %s: %w", process.Name(), err)
	}
	return nil
}

// insecureClient believes any certificate: the servers of metrics have signed their own, and are on this machine.
func insecureClient() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // as said
}
