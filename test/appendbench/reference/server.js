// Serves streams by the protocol's reference server, from files in the folder that is its argument, until it is ended. Prints
// its URL as its only line on standard output.
import { DurableStreamTestServer } from "@durable-streams/server"

const server = new DurableStreamTestServer({ dataDir: process.argv[2], host: "127.0.0.1", port: 0 })
console.log(await server.start())
