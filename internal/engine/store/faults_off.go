//go:build !crashpoints

package store

import "net/url"

// takeFaults knows no faults in this build: a parameter that names some is refused like every unknown one.
func takeFaults(u *url.URL) (*url.URL, func(Store) Store) { return u, nil }
