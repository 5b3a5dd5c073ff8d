// Package transfers makes, retries and cancels the StreamTransfers that the operator asks for by itself: those of drains,
// takeovers, placements and rebalancing. There is this one way only. It moves nothing: a transfer of the operator's making
// is validated, accepted and carried out like one that a person applied.
package transfers
