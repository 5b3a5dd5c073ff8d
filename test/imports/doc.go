// Package imports holds the table of which package may know which, and a test that the sources keep to it. A package without a
// line in the table fails the test: whoever adds one decides where it belongs.
package imports
