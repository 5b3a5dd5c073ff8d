// Package bed starts Streamshift in the build that can be made to fail: processes that end at a named point, object stores
// that do wrong what a file says, and a proxy in front of everything that a node can be cut off from. It decides nothing:
// what goes wrong when is its users' to say.
package bed
