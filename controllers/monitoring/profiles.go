package monitoring

import (
	"net/http"
	"net/http/pprof"
)

// ProfilesPath is the path below which profiles of the process are served, in the form of net/http/pprof.
const ProfilesPath = "/debug/pprof/"

// profileHandlers are those of net/http/pprof, by their paths. The index serves the profiles that have no handler of their own.
func profileHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		ProfilesPath:             http.HandlerFunc(pprof.Index),
		ProfilesPath + "cmdline": http.HandlerFunc(pprof.Cmdline),
		ProfilesPath + "profile": http.HandlerFunc(pprof.Profile),
		ProfilesPath + "symbol":  http.HandlerFunc(pprof.Symbol),
		ProfilesPath + "trace":   http.HandlerFunc(pprof.Trace),
	}
}
