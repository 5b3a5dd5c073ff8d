package commandline

import "runtime/debug"

// version is the release, which the linker sets where one is built:
// go build -ldflags "-X github.com/streamshift/streamshift/internal/commandline.version=v1.2.3".
var version string

// Version is what programs say to --version: the release, else what Go has noted of the source: the module's version, and the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if version != "" || !ok {
		return version
	}
	return described(info)
}

// described is "(devel) 0a1b2c3d4e5f, changed": a commit that is known, and whether files differed from it.
func described(info *debug.BuildInfo) string {
	commit, changed := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = " " + setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = ", changed"
		}
	}
	return info.Main.Version + commit + changed
}
