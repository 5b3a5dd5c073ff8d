package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// TestACallerKeepsNoConnectionToTheWebhook: it would go on using it after the manager has died with its node.
func TestACallerKeepsNoConnectionToTheWebhook(t *testing.T) {
	hooks := unkept{webhook.NewServer(webhook.Options{})}
	hooks.Register("/hook", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	server := httptest.NewTLSServer(hooks.WebhookMux())
	defer server.Close()
	response, err := server.Client().Post(server.URL+"/hook", "application/json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("the answer is %s, and the connection is kept: %t", response.Status, !response.Close)
	}
}
