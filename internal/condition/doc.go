// Package condition is the only code that sets or reads conditions. It is pure: the time of a change is handed in.
package condition
