# shellcheck shell=bash
# Sourced by the scripts that build programs from Go modules into a cache outside the checkout, once a machine.

cache="${XDG_CACHE_HOME:-$HOME/.cache}/streamshift"

# module_version MODULE: the version that the go.mod of the current folder pins.
module_version() { go list -m -f '{{.Version}}' "$1"; }

# build_once FOLDER NAME PACKAGE [LDFLAGS]: builds PACKAGE of the current folder's module as FOLDER/NAME unless it is there.
# By rename, so that a build cut short leaves nothing half done; locked, so that of two clones that ask at once one waits.
build_once() {
  local folder=$1 name=$2 package=$3 ldflags=${4:--s -w}
  [ -x "$folder/$name" ] && return
  mkdir -p "$folder"
  (
    if command -v flock >/dev/null; then flock 9; fi
    [ -x "$folder/$name" ] && exit 0
    began=$SECONDS
    echo "Building $name into the cache, once a machine; on 2 cores it may take up to 6 minutes" >&2
    nice go build -trimpath -ldflags "$ldflags" -o "$folder/$name.$$" "$package" >&2
    mv "$folder/$name.$$" "$folder/$name"
    echo "Built $name in $((SECONDS - began)) s" >&2
  ) 9>"$folder.lock"
}
