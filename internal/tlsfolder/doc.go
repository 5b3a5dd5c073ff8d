// Package tlsfolder speaks TLS with the certificate of a folder, as a Secret is mounted: tls.crt, tls.key, and ca.crt with those who
// are trusted. What is in the folder may change at any time; connections that are made afterwards use it. Connections that there are
// go on.
//
// It says, too, by which names the components know each other: a node takes only clients that have the gateway's name, and a gateway
// sends requests only to servers that have the node's. The package must not make certificates.
package tlsfolder
