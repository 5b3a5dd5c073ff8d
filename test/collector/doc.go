// Package collector is a collector of OpenTelemetry spans for tests: it takes them by OTLP over HTTP and keeps them in memory.
package collector
