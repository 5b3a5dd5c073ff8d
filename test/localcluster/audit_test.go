package localcluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadWrites(t *testing.T) {
	const complete = `{"kind":"Event","verb":"patch","user":{"username":"system:serviceaccount:streamshift-system:streamshift-node"},` +
		`"objectRef":{"resource":"streams","namespace":"default","name":"orders","apiGroup":"streamshift.io","subresource":"status"},` +
		`"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-30T08:00:00.123456Z"}` + "\n"
	write := Write{
		User:        "system:serviceaccount:streamshift-system:streamshift-node",
		Verb:        "patch",
		Group:       "streamshift.io",
		Resource:    "streams",
		Subresource: "status",
		Namespace:   "default",
		Name:        "orders",
		Code:        200,
		At:          time.Date(2026, 11, 30, 8, 0, 0, 123456000, time.UTC),
	}
	tests := map[string]struct {
		log       string
		want      []Write
		wantError string
	}{
		"an empty log holds no write":                      {log: ""},
		"each line is a write":                             {log: complete + complete, want: []Write{write, write}},
		"a line that is being written now is left out":     {log: complete + complete[:40], want: []Write{write}},
		"a line that is no event is an error, not skipped": {log: complete + "oops\n", wantError: "line 2"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := readWrites(strings.NewReader(test.log))
			if (err != nil) != (test.wantError != "") || err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Fatalf("error %v, want one with %q", err, test.wantError)
			}
			if err != nil {
				return
			}
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Errorf("writes differ (-want +got):\n%s", difference)
			}
		})
	}
}
