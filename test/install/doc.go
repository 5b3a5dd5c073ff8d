// Package install tests what users install, on a real API server: that every rendering is accepted, that its pods conform to the
// restricted Pod Security Standard, and that it grants to each component what that uses and to an agent that lies nothing at all.
//
// It starts no component; test/e2e runs them with what is installed here.
package install
