// Command images builds one image a component, without a Docker daemon: a static program, the certificates of public authorities, and
// a user that is not root; no shell, no package, no base image. The same sources, version and Go give the same digests anywhere.
//
// It writes an OCI layout a component into a folder, for "crane push", "skopeo copy oci:..." and others, and pushes to a registry where
// it is told to. It signs nothing.
package main
