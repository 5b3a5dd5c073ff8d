// Package pki is an authority for certificates that renews itself: who signs, who is trusted, and what has to be renewed, each a pure
// function of what there is and of the time.
//
// Authorities overlap. Half way through the life of the newest one a next one is made, which is trusted from then on, and signs only
// after everybody has had the time to hear of it. One that has been followed stays trusted until it runs out. So a change of the
// authority needs no moment at which everybody changes: no certificate is ever shown to somebody who does not trust its signer yet.
//
// The package reads no clock and no file. It must not know where certificates are kept, or who gets them.
package pki
