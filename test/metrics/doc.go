// Package metrics tests the metrics of all components together: that they keep the conventions of Prometheus, that the dashboard and the
// alerts name none that does not exist, that each of them is shown, and that every alert has a section that says what a person can do.
package metrics
