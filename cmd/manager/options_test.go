package main

import (
	"strings"
	"testing"
)

func TestLimitsOfZeroAreRefused(t *testing.T) {
	for _, flag := range []string{"--drain-limit", "--drain-limit-per-source", "--drain-limit-per-target"} {
		command := newCommand()
		command.SetArgs([]string{flag + "=0"})
		err := command.Execute()
		if err == nil || !strings.HasPrefix(err.Error(), flag+" is 0: give 1 or more") {
			t.Errorf("%s=0 is answered with %v", flag, err)
		}
	}
}
