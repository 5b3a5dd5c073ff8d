package monitoring

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"
)

func TestProfilesAreServedToNobodyUnlessAsked(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		want  bool
	}{
		"to those whose role lets them":     {nil, true},
		"not where they are turned off":     {[]string{"--profiling=false"}, false},
		"not where nobody is asked":         {[]string{"--metrics-secure=false"}, false},
		"not even where they are turned on": {[]string{"--metrics-secure=false", "--profiling=true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			flags := &Flags{}
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.Bind(set)
			if err := set.Parse(c.flags); err != nil {
				t.Fatal(err)
			}
			options := flags.Options(nil)
			if served := len(options.ExtraHandlers) > 0; served != c.want {
				t.Errorf("served: %t, want %t", served, c.want)
			}
			if c.want && (options.FilterProvider == nil || !options.SecureServing) {
				t.Error("nobody is asked who they are")
			}
		})
	}
}

func TestProfilesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		path, seconds string
		wantRefused   bool
	}{
		"a profile at the limit":          {"profile", "60", false},
		"one beyond":                      {"profile", "61", true},
		"a trace beyond by a fraction":    {"trace", "60.001", true},
		"a trace for ever":                {"trace", "Inf", true},
		"a trace of no number of seconds": {"trace", "NaN", true},
		"a difference of two heaps":       {"heap", "61", true},
		"a heap as it is":                 {"heap", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			served := false
			handler := limited(func(http.ResponseWriter, *http.Request) { served = true })
			answer := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, ProfilesPath+c.path+"?seconds="+c.seconds, http.NoBody)
			handler.ServeHTTP(answer, request)
			if refused := answer.Code == http.StatusBadRequest; refused != c.wantRefused || served == refused {
				t.Errorf("refused: %t, want %t; served: %t", refused, c.wantRefused, served)
			}
		})
	}
}
