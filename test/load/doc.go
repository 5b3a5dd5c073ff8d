// Package load appends to one stream without pause, reads along, and judges afterwards what became of every record. Demo,
// end-to-end tests and benchmarks share it.
//
// It talks to streams as any client does: plain HTTP, one URL, nothing known about nodes or transfers. It never hides a fault: a
// request that fails is counted even where a repetition succeeds.
//
// The judge trusts no counter of the service: it reads the whole stream back and compares it, record by record, with what each
// writer was told.
package load
