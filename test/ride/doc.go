// The ride runner lets real clients append to and read from streams through the gateway while the streams are transferred, their
// nodes are cordoned, and the nodes are restarted one after the other. It demands that no client sees an error and that every
// record is read back once and in order.
//
//	go run ./test/ride                            # every client
//	go run ./test/ride -clients curl,python       # some of them
//	go run ./test/ride -transfers 500             # for longer
//
// Each client is a small program in a folder of its own. It is given the URL of a stream that does not exist yet, makes it
// (application/json), and runs writers and readers on it at the same time: "producer" (with producer identity) and "plain"
// write; "sse" and "long-poll" read from the beginning. A writer appends {"writer":"plain","number":0}, then number 1, and so on.
// When standard input ends, the writers stop; then the program appends {"writer":"end","number":0}, and ends when every reader
// has seen that. It prints lines of JSON:
//
//	{"event":"read","by":"sse","records":[{"writer":"plain","number":0}]}  in the order in which the reader got them
//	{"event":"wrote","by":"plain","count":812}                             how many records a writer has had acknowledged
//	{"event":"error","by":"plain","text":"POST is answered 503"}           whatever the client, or what it stands on, has seen fail
//
// A client that repeats requests silently reports the failed ones all the same: whoever must repeat was not served.
package main
