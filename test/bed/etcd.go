package bed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// answerLimit bounds what is read of an answer of etcd, in bytes.
const answerLimit = 16 << 20

// StoredStream is a Stream as etcd holds it, byte for byte.
type StoredStream struct {
	key, value []byte
}

// ReadStored reads a stream from etcd itself, past the API server: a backup of one object.
func (b *Bed) ReadStored(ctx context.Context, namespace, name string) (StoredStream, error) {
	key := []byte("/registry/streamshift.io/streams/" + namespace + "/" + name)
	var answer struct {
		KVs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := b.askEtcd(ctx, "range", map[string]string{"key": base64.StdEncoding.EncodeToString(key)}, &answer); err != nil {
		return StoredStream{}, err
	}
	if len(answer.KVs) != 1 {
		return StoredStream{}, fmt.Errorf("reading %s from etcd: %d values", key, len(answer.KVs))
	}
	return StoredStream{key: key, value: answer.KVs[0].Value}, nil
}

// Restore writes a stream as it was into etcd itself, where no rule of the API server holds: as when etcd is restored from
// a backup and its revision is raised, as its own documentation wants it.
func (b *Bed) Restore(ctx context.Context, stored StoredStream) error {
	encode := base64.StdEncoding.EncodeToString
	return b.askEtcd(ctx, "put", map[string]string{"key": encode(stored.key), "value": encode(stored.value)}, &struct{}{})
}

func (b *Bed) askEtcd(ctx context.Context, what string, question map[string]string, answer any) error {
	body, err := b.callEtcd(ctx, "kv/"+what, question)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(io.LimitReader(body, answerLimit)).Decode(answer); err != nil {
		return fmt.Errorf("asking etcd to %s: %w", what, err)
	}
	return nil
}

// callEtcd asks by the JSON that etcd takes in place of gRPC, and returns the answer's body.
func (b *Bed) callEtcd(ctx context.Context, what string, question map[string]string) (io.ReadCloser, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("encoding a question to etcd: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Cluster.EtcdURL()+"/v3/"+what, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, answerLimit))
		return nil, errors.Join(fmt.Errorf("asking etcd to %s: %s: %s", what, response.Status, text), response.Body.Close())
	}
	return response.Body, nil
}
