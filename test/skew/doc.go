// Package skew tests components of two versions together: those of this checkout, and those of an earlier commit of it, which are
// built into bin/ once. Where the checkout has no such commit, as in a shallow clone, it says so and tests nothing.
package skew
