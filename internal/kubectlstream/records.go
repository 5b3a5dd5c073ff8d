package kubectlstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
)

const (
	// maxBatchBytes is about how much is sent at once, maxBatchRecords how many records.
	maxBatchBytes   = 1 << 20
	maxBatchRecords = 1000
)

// recordSource returns the next records, at least one; io.EOF behind the last. It waits for the first only: what comes slowly is
// sent as it comes.
type recordSource func(context.Context) ([][]byte, error)

// isJSON tells whether a stream of this content type consists of JSON values.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// fromArguments has each argument as a record.
func fromArguments(args []string, contentType string) (recordSource, error) {
	var records [][]byte
	for _, arg := range args {
		record := []byte(arg)
		if isJSON(contentType) {
			if !json.Valid(record) {
				return nil, fmt.Errorf("the stream consists of JSON, and the argument %q is no JSON value: quote strings for JSON, too ('\"text\"')", arg)
			}
		} else {
			record = append(record, '\n')
		}
		records = append(records, record)
	}
	return func(context.Context) ([][]byte, error) {
		if len(records) == 0 {
			return nil, io.EOF
		}
		n := min(len(records), maxBatchRecords)
		batch := records[:n]
		records = records[n:]
		return batch, nil
	}, nil
}

// fromReader has what can be read: the JSON values, or pieces of the bytes.
func fromReader(in io.Reader, contentType string) recordSource {
	next := pieces(in)
	if isJSON(contentType) {
		next = values(in)
	}
	type item struct {
		record []byte
		err    error
	}
	// Reading goes on while records are on their way; it ends with the process where nothing comes any more.
	items := make(chan item, maxBatchRecords)
	done := make(chan struct{})
	go func() {
		for {
			record, err := next()
			select {
			case items <- item{record, err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var failure error
	return func(ctx context.Context) ([][]byte, error) {
		if failure != nil {
			return nil, failure
		}
		var batch [][]byte
		for size := 0; len(batch) < maxBatchRecords && size < maxBatchBytes; {
			var i item
			select {
			case i = <-items:
			default:
				if len(batch) > 0 {
					return batch, nil
				}
				select {
				case i = <-items:
				case <-ctx.Done():
					close(done)
					failure = ctx.Err()
					return nil, failure
				}
			}
			if failure = i.err; failure != nil {
				if len(batch) > 0 {
					return batch, nil
				}
				return nil, failure
			}
			batch, size = append(batch, i.record), size+len(i.record)
		}
		return batch, nil
	}
}

// pieceBytes is how much of a stream of bytes is one record, at most.
const pieceBytes = 64 << 10

// pieces returns what one read returns.
func pieces(in io.Reader) func() ([]byte, error) {
	buffer := make([]byte, pieceBytes)
	return func() ([]byte, error) {
		for {
			n, err := in.Read(buffer)
			if n > 0 {
				return bytes.Clone(buffer[:n]), nil // an error comes again
			}
			if err != nil {
				return nil, readError(err)
			}
		}
	}
}

// values returns one JSON value after the other.
func values(in io.Reader) func() ([]byte, error) {
	decoder := json.NewDecoder(in)
	return func() ([]byte, error) {
		var value json.RawMessage
		err := decoder.Decode(&value)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("the stream consists of JSON, and standard input has something else from byte %d on: %w", decoder.InputOffset(), err)
		}
		if err != nil {
			return nil, readError(err)
		}
		return value, nil
	}
}

func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("reading standard input: %w", err)
}

// counted says how much was appended: of bytes, nobody counts the pieces that they came in.
func counted(records int, contentType string) string {
	switch {
	case records == 0:
		return "nothing, the input was empty"
	case !isJSON(contentType):
		return "all of it"
	case records == 1:
		return "1 record"
	}
	return fmt.Sprintf("%d records", records)
}
