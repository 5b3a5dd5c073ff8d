package main

import (
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// unkept serves each call of the webhook on a connection of its own. The API server keeps connections for up to 90 s (by HTTP/1.1, without
// probing them), and every call that takes one to a manager that has died with its node fails after the webhook's timeout. A
// handshake for each transfer that a user asks for costs less.
type unkept struct {
	webhook.Server
}

// Register implements webhook.Server.
func (u unkept) Register(path string, hook http.Handler) {
	u.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		hook.ServeHTTP(w, r)
	}))
}
