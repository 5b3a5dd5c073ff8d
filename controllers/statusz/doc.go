// Package statusz shows a person what goes on: one page, made on the server from the manager's cache, that every replica serves the
// same. It changes nothing, runs no script, loads nothing from anywhere, and shows a bounded number of rows, what needs attention
// first. Who may see it is decided by what serves it (controllers/monitoring).
package statusz
