package commandline

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// CheckNumbers refuses flags that were given a number or a duration below zero. No flag means anything there: a limit of -1 would
// be none at all, or one that nothing passes.
func CheckNumbers(flags *pflag.FlagSet) error {
	var problems []error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "int", "int32", "int64", "float32", "float64", "duration":
			if strings.HasPrefix(f.Value.String(), "-") {
				problems = append(problems, fmt.Errorf("--%s is %s: give 0 or more", f.Name, f.Value))
			}
		}
	})
	return errors.Join(problems...)
}

// CheckBaseURL refuses the value of a flag that is no URL by which HTTP reaches a server.
func CheckBaseURL(flag, value string) error {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("--%s is %q: give a URL such as https://10.0.0.7:4437", flag, value)
	}
	return nil
}
