// Package alerts tests that each alert is raised where it shall be and nowhere else, by Prometheus' own engine. It is a module of its own,
// so that nobody who builds Streamshift needs that.
package alerts
