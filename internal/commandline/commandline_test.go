package commandline

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestCheckNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing given":                      {},
		"zeros":                              {args: []string{"--limit=0", "--wait=0s", "--rate=0", "--bytes=0"}},
		"more":                               {args: []string{"--limit=1", "--wait=1s", "--rate=0.5", "--bytes=1"}},
		"a text that begins so":              {args: []string{"--name=-1"}},
		"a limit below zero":                 {args: []string{"--limit=-1"}, want: "--limit is -1: give 0 or more"},
		"a size below zero":                  {args: []string{"--bytes=-5"}, want: "--bytes is -5: give 0 or more"},
		"a rate below zero":                  {args: []string{"--rate=-0.5"}, want: "--rate is -0.5: give 0 or more"},
		"a duration below zero, and another": {args: []string{"--wait=-1ms", "--limit=-2"}, want: "--limit is -2: give 0 or more\n--wait is -1ms: give 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("program", pflag.ContinueOnError)
			flags.Int("limit", 7, "")
			flags.Int64("bytes", 7, "")
			flags.Float32("rate", 7, "")
			flags.Duration("wait", time.Second, "")
			flags.String("name", "", "")
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			if got := text(CheckNumbers(flags)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckBaseURL(t *testing.T) {
	for value, want := range map[string]string{
		"http://127.0.0.1:4437":   "",
		"https://[fd00::1]:4437":  "",
		"https://node-a.internal": "",
		"foo":                     `--here is "foo": give a URL such as https://10.0.0.7:4437`,
		"10.0.0.7:4437":           `--here is "10.0.0.7:4437": give a URL such as https://10.0.0.7:4437`,
		"https://":                `--here is "https://": give a URL such as https://10.0.0.7:4437`,
		"ftp://10.0.0.7":          `--here is "ftp://10.0.0.7": give a URL such as https://10.0.0.7:4437`,
	} {
		if got := text(CheckBaseURL("here", value)); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
