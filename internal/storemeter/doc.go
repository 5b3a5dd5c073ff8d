// Package storemeter measures an object store as its user sees it: how long each kind of request takes, and how many fail.
//
// It changes no request and no answer, and says nothing of keys or content.
package storemeter
