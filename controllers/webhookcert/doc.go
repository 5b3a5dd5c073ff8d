// Package webhookcert gives the webhook its serving certificate. A well-kept rotator makes an authority and a certificate
// in a Secret, renews them, and injects the authority into the webhook's configuration; this package serves the newest
// certificate of the Secret from memory, on every replica, without a mounted volume or a restart.
package webhookcert
