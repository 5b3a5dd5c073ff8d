// Command scale tries what takes too long for every test run, with real processes, and exits with 0 only if all of it holds:
//
//   - bulk: a gigabyte in one stream, on files and on a real S3 server, read back beside the store alone;
//   - records: a million small records, and how many objects they leave;
//   - clients: thousands of event streams, clients that read or write slowly or not at all, a body without end and header
//     bombs, at a gateway and at a node: bounded memory, and nobody else is harmed.
//
// The package's tests run the same with small numbers, without Kubernetes.
package main
