package localcluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Write is one request that changed, or tried to change, an object: what the API server's audit log says of it.
type Write struct {
	User        string
	Verb        string // create, update, patch, delete or deletecollection
	Group       string
	Resource    string // plural, such as "streams"
	Subresource string // such as "status"; empty for the object itself
	Namespace   string
	Name        string
	Code        int // the HTTP status of the answer
	// At is when the request arrived, by the API server's clock.
	At time.Time
}

// auditEvent is the part of an audit.k8s.io/v1 Event that Write is made of.
type auditEvent struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	ReceivedAt time.Time `json:"requestReceivedTimestamp"`
}

// Writes are all writes that the API server has answered, refused ones too, in the order of their answers. The cluster must
// have been started with AuditWrites.
func (c *Cluster) Writes() ([]Write, error) {
	if c.options.Audit != AuditWrites {
		return nil, errors.New("reading the audit log: the cluster was started without one")
	}
	file, err := os.Open(c.auditPath())
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	return readWrites(file)
}

// readWrites reads one JSON event a line. A last line without its end is one that is being written now, and is left out.
func readWrites(log io.Reader) ([]Write, error) {
	var writes []Write
	reader := bufio.NewReader(log)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writes, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("reading line %d of the audit log: %w", len(writes)+1, err)
		}
		writes = append(writes, Write{
			User:        event.User.Username,
			Verb:        event.Verb,
			Group:       event.ObjectRef.APIGroup,
			Resource:    event.ObjectRef.Resource,
			Subresource: event.ObjectRef.Subresource,
			Namespace:   event.ObjectRef.Namespace,
			Name:        event.ObjectRef.Name,
			Code:        event.ResponseStatus.Code,
			At:          event.ReceivedAt,
		})
	}
}
