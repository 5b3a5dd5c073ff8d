package monitoring

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
)

// ProfilesPath is the path below which profiles of the process are served, in the form of net/http/pprof.
const ProfilesPath = "/debug/pprof/"

// longestProfile is for how many seconds a profile or a trace may be taken: a trace that its reader does not take is kept in memory.
const longestProfile = 60

// profileHandlers are those of net/http/pprof, by their paths. The index serves the profiles that have no handler of their own.
func profileHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		ProfilesPath:             limited(pprof.Index),
		ProfilesPath + "cmdline": http.HandlerFunc(pprof.Cmdline),
		ProfilesPath + "profile": limited(pprof.Profile),
		ProfilesPath + "symbol":  http.HandlerFunc(pprof.Symbol),
		ProfilesPath + "trace":   limited(pprof.Trace),
	}
}

// limited refuses profiles of more than longestProfile. What is no number net/http/pprof takes for its default.
func limited(handler http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// As net/http/pprof reads it: from the query or a form, and a trace takes fractions.
		if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && !(seconds <= longestProfile) {
			http.Error(w, fmt.Sprintf("seconds is more than %d", longestProfile), http.StatusBadRequest)
			return
		}
		handler(w, r)
	})
}
