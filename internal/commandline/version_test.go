package commandline

import (
	"runtime/debug"
	"testing"
)

func TestDescribed(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"}
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3":                        {Main: debug.Module{Version: "v1.2.3"}},
		"(devel)":                       {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}}},
		"(devel) 0a1b2c3d4e5f":          {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "false"}}},
		"(devel) 0a1b2c3d4e5f, changed": {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}},
	} {
		if got := described(&info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheLinkersVersionWins(t *testing.T) {
	defer func(before string) { version = before }(version)
	version = "v9.9.9"
	if got := Version(); got != "v9.9.9" {
		t.Errorf("got %q, want what the linker set", got)
	}
}
