// Package s3server starts a real S3 server on loopback, for tests and benchmarks. It builds nothing unless it is asked to: the
// server's first build takes minutes.
package s3server
