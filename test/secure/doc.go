// Package secure tests Streamshift as it is installed: TLS on every port, clients that are asked who they are, and certificates that
// are renewed while streams are written. Its hostile client has no rights, or too few, and tries to get at streams nevertheless.
package secure
