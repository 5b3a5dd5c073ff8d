package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	_ "github.com/streamshift/streamshift/internal/engine/store/cloud" // s3://, gs://, azblob://
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/test/history"
)

// more is how many appends each stream must take after the storm.
const more = 10

// end waits until everything has come to rest by itself, stops the clients and judges. It returns what is wrong.
func (s *storm) end(ctx context.Context) []string {
	began := time.Now()
	var wrong []string
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	note(s.bed.Cluster.AwaitReady(ctx))
	note(await(ctx, "every transfer to end by itself", s.ended))
	note(await(ctx, "every stream to be served again", s.served))
	for i, recording := range s.recordings {
		want := recording.Acknowledged() + more
		note(await(ctx, "stream "+s.streams[i]+" to take appends again", func(context.Context) error {
			if got := recording.Acknowledged(); got < want {
				return fmt.Errorf("%d more are missing", want-got)
			}
			return nil
		}))
	}
	s.tally.add("rest", "ms until everything was well", int(time.Since(began).Milliseconds()))
	looks, found := s.registers.end()
	s.tally.add("looks at the registers", "looks", looks)
	wrong = append(wrong, found...)
	for i, recording := range s.recordings {
		wrong = append(wrong, s.judge(ctx, s.streams[i], recording)...)
	}
	note(s.countTransfers(ctx))
	return wrong
}

// ended tells whether every transfer has an outcome.
func (s *storm) ended(ctx context.Context) error {
	list := &v1alpha1.StreamTransferList{}
	if err := s.bed.Cluster.Client().List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing transfers: %w", err)
	}
	for i := range list.Items {
		if transfer := &list.Items[i]; !handoff.Terminal(transfer) {
			return fmt.Errorf("transfer %s has not ended: %+v", transfer.Name, transfer.Status)
		}
	}
	return nil
}

func (s *storm) countTransfers(ctx context.Context) error {
	list := &v1alpha1.StreamTransferList{}
	if err := s.bed.Cluster.Client().List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing transfers: %w", err)
	}
	for i := range list.Items {
		transfer := &list.Items[i]
		ready, _ := condition.Get(transfer.Status.Conditions, v1alpha1.ConditionReady)
		cause := transfer.Labels[v1alpha1.LabelCause]
		if cause == "" {
			cause = "User"
		}
		s.tally.add("outcomes of transfers", cause+"/"+string(transfer.Status.Phase)+"/"+ready.Reason, 1)
	}
	return nil
}

// judge compares what the clients of a stream did and saw with what it holds, and its log with its own rules.
func (s *storm) judge(ctx context.Context, name string, recording *history.Recording) []string {
	h, stored, err := recording.Stop(ctx)
	if err != nil {
		return []string{name + ": " + err.Error()}
	}
	for _, a := range h.Appends {
		s.tally.add("appends", a.Outcome.String(), 1)
	}
	s.tally.add("reads", "answered", len(h.Reads))
	s.tally.add("requests", "failed", h.Failures)
	wrong := history.Judge(h, stored)
	if err := s.inspect(ctx, name, len(stored)); err != nil {
		wrong = append(wrong, err.Error())
	}
	for i := range wrong {
		wrong[i] = name + ": " + wrong[i]
	}
	return wrong
}

// inspect reads the log as an opening would, and demands that it holds so many records.
func (s *storm) inspect(ctx context.Context, name string, records int) error {
	stream := &v1alpha1.Stream{}
	if err := s.bed.Cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stream); err != nil {
		return fmt.Errorf("reading the stream: %w", err)
	}
	objects, err := store.Open(ctx, s.bed.Cluster.StoreURL())
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	found := 0
	_, err = engine.Inspect(ctx, objects, string(stream.UID), func(engine.Offset, []byte) error { found++; return nil })
	if err != nil {
		return fmt.Errorf("inspecting the log: %w", err)
	}
	if found < records {
		return fmt.Errorf("the log holds %d records, and %d were read from the stream", found, records)
	}
	return nil
}
