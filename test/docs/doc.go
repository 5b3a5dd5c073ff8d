// Package docs checks that the documentation says what the code does, where a machine can tell.
package docs
