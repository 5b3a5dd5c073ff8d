// Command etcd is the etcd server of its module at the version in go.mod: its own main package is in a module that
// replaces its dependencies by local folders, which nothing outside can build.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
