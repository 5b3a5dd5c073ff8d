package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
)

const (
	// probeFolder holds the objects of a probe; they are deleted at its end.
	probeFolder = "probe"
	// probeRounds and probeWriters bound the race: a store that looks before it writes lets two win in about half of
	// such rounds, so ten of them leave it about one chance in a thousand.
	probeRounds  = 10
	probeWriters = 8
)

// Probe puts the store to a short race of creators. It fails with one sentence where two of them could win, where the
// conditional write is not obeyed, or where what was created cannot be read back; and where the store does not answer.
func Probe(ctx context.Context, s Store) error {
	run := rand.Text()
	for round := range probeRounds {
		key := fmt.Sprintf("%s/%s-%d", probeFolder, run, round)
		err := probeOnce(ctx, s, key)
		if deleteErr := s.Delete(ctx, key); err == nil && deleteErr != nil {
			err = fmt.Errorf("probing the store: %w", deleteErr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func probeOnce(ctx context.Context, s Store, key string) error {
	var (
		writers sync.WaitGroup
		start   = make(chan struct{})
		errs    [probeWriters]error
	)
	for i := range probeWriters {
		writers.Go(func() {
			<-start
			errs[i] = s.Create(ctx, key, mark(i))
		})
	}
	close(start)
	writers.Wait()

	winner := -1
	for i, err := range errs {
		switch {
		case errors.Is(err, ErrExists):
		case err != nil:
			return fmt.Errorf("probing the store: %w", err)
		case winner >= 0:
			return errors.New("probing the store: two writers created the same object, so it cannot tell two owners of a stream apart; " +
				"use a store with conditional writes (If-None-Match)")
		default:
			winner = i
		}
	}
	if winner < 0 {
		return errors.New("probing the store: an object that did not exist could not be created, its conditional write always refuses")
	}
	data, err := s.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("probing the store: %w", err)
	}
	if !bytes.Equal(data, mark(winner)) {
		return errors.New("probing the store: it kept another object than the one whose creation succeeded")
	}
	return nil
}

// mark is what a writer writes.
func mark(writer int) []byte { return fmt.Appendf(nil, "writer %d", writer) }
