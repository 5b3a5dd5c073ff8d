// Package streamtransfer reconciles StreamTransfers on the manager: it accepts them, withdraws them, and records what
// became of them. The rules are in internal/handoff; the webhook beside the reconciler gives users a quick answer by the
// same functions.
package streamtransfer
