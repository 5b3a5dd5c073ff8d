// Package stream reconciles Streams on the manager: it places those without owner, and withdraws pending records whose
// transfer no longer exists. What a stream's owner does is in controllers/session.
package stream
