package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/streamclient"
	"github.com/streamshift/streamshift/test/localcluster"
)

// maxFaultsShown bounds how many of a ride's faults are printed.
const maxFaultsShown = 20

// options are the command line's.
type options struct {
	sources            string
	clients            string
	folder             string
	transfers, cordons int
	seed               uint64
	nodeArgs           string
}

func main() {
	o := options{}
	flag.StringVar(&o.sources, "sources", "test/ride", "folder of the clients' programs")
	flag.StringVar(&o.clients, "clients", "", "which clients ride, by name with commas between; empty: all")
	flag.StringVar(&o.folder, "folder", "", "folder for the cluster's data and logs, which stays; empty: a temporary one")
	flag.IntVar(&o.transfers, "transfers", 50, "how many transfers a ride goes through")
	flag.IntVar(&o.cordons, "cordons", 5, "how many cordons a ride goes through")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "seed of the choice of targets") //nolint:gosec // printed, to be given again
	flag.StringVar(&o.nodeArgs, "node-args", "", "more arguments of the nodes, with spaces between")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the clients' warnings
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ride:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	chosen, err := choose(programs(o.sources), o.clients)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		_, _ = fmt.Fprintf(out, "Preparing %s\n", p.name)
		if err := p.get(ctx); err != nil {
			return err
		}
	}
	cluster, err := localcluster.Start(ctx, localcluster.Options{Folder: o.folder, Progress: out})
	if err != nil {
		return fmt.Errorf("starting a cluster: %w", err)
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	started, err := cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: nodes, NodeArgs: strings.Fields(o.nodeArgs)})
	if err != nil {
		return fmt.Errorf("starting Streamshift: %w", err)
	}
	_, _ = fmt.Fprintf(out, "Riding, -seed %d\n", o.seed)
	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // repeatable on purpose
	var errs []error
	for _, p := range chosen {
		at := &place{cluster: cluster, started: started, stream: client.ObjectKey{Namespace: namespace, Name: "ride-" + p.name}, random: random}
		if err := ride(ctx, o, p, at, out); err != nil {
			errs = append(errs, fmt.Errorf("the ride of %s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

// choose returns the clients that are named; all where names is empty.
func choose(all []program, names string) ([]program, error) {
	if names == "" {
		return all, nil
	}
	var chosen []program
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(all, func(p program) bool { return p.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no client %q", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// ride lets one client go through every disturbance, and judges.
func ride(ctx context.Context, o options, p program, at *place, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx) // ends the client where the ride ends early
	defer cancel()
	began := time.Now()
	stream := streamclient.New(at.started.Gateway.URL(), streamclient.Options{}).Stream(at.stream.Namespace, at.stream.Name)
	r, err := start(ctx, p, stream.URL())
	if err != nil {
		return err
	}
	if err := r.awaitProgress(ctx); err != nil {
		return err
	}
	var through []string
	for _, d := range at.disturbances(o.transfers, o.cordons) {
		for i := range d.times {
			if err := d.do(ctx, i); err != nil {
				return err
			}
			if err := r.awaitProgress(ctx); err != nil {
				return fmt.Errorf("after %d of the %s: %w", i+1, d.what, err)
			}
		}
		through = append(through, fmt.Sprintf("%d %s", d.times, d.what))
	}
	told, err := r.finish(ctx)
	if err != nil {
		return err
	}
	stored, err := readBack(ctx, stream)
	if err != nil {
		return err
	}
	faults := p.judge(told, stored)
	_, _ = fmt.Fprintf(out, "%s: %s; %d records, %d faults, in %s\n",
		p.name, strings.Join(through, ", "), len(stored), len(faults), time.Since(began).Round(time.Second))
	for _, fault := range faults[:min(len(faults), maxFaultsShown)] {
		_, _ = fmt.Fprintf(out, "  %s\n", fault)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d faults", len(faults))
	}
	return stream.Delete(ctx)
}

// readBack reads the whole stream.
func readBack(ctx context.Context, stream *streamclient.Stream) ([]record, error) {
	var all []record
	for from := streamclient.Beginning; ; {
		chunk, err := stream.Read(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("reading the stream back: %w", err)
		}
		var records []record
		if err := json.Unmarshal(chunk.Data, &records); err != nil {
			return nil, fmt.Errorf("decoding the stream: %w", err)
		}
		all = append(all, records...)
		if chunk.UpToDate {
			return all, nil
		}
		from = chunk.Next
	}
}
