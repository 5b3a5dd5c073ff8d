// One ride of the official TypeScript client: its idempotent producer and its plain append write, its event stream and its
// long-poll read. See the package documentation of test/ride for what is printed.
//
//   node ride.js STREAM-URL
import { DurableStream, IdempotentProducer, stream } from "@durable-streams/client"

const url = process.argv[2]
const pause = 20 // milliseconds between two appends of a writer

const say = (event) => process.stdout.write(JSON.stringify(event) + "\n")

const fail = (by, text) => say({ event: "error", by, text: String(text) })

// The producer has several batches under way, each on a connection of its own. One that overtakes another is told which sequence
// is expected, and waits for that: the protocol's way to keep them in order, and nothing that has failed.
const overtook = (response) => response.status === 409 && response.headers.has("producer-expected-seq")

// The client repeats some requests silently, so every answer is looked at: whoever must repeat was not served.
const watching = (by) => async (input, init) => {
  let response
  try {
    response = await fetch(input, init)
  } catch (error) {
    if (!init?.signal?.aborted) fail(by, error.cause ?? error)
    throw error
  }
  if (!response.ok && !(by === "producer" && overtook(response))) fail(by, `${init?.method ?? "GET"} is answered ${response.status}`)
  const live = new URL(response.url).searchParams.get("live")
  if (live && live !== by) fail(by, `the client has fallen back to ${live}`)
  return response
}

let stopped = false
const stop = new Promise((resolve) => {
  process.stdin.on("end", () => {
    stopped = true
    resolve()
  })
})
process.stdin.resume()

// rest waits a while, or until the writers shall stop.
const rest = () =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, pause)
    void stop.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })

async function produce() {
  const by = "producer"
  const handle = new DurableStream({ url, contentType: "application/json", fetch: watching(by) })
  const producer = new IdempotentProducer(handle, by, {
    fetch: watching(by),
    onError: (error) => fail(by, error),
  })
  let count = 0
  for (; !stopped; count++) {
    producer.append(JSON.stringify({ writer: by, number: count }))
    await rest()
  }
  await producer.flush()
  say({ event: "wrote", by, count })
}

async function append() {
  const by = "plain"
  const handle = new DurableStream({ url, contentType: "application/json", fetch: watching(by) })
  let count = 0
  for (; !stopped; count++) {
    await handle.append(JSON.stringify({ writer: by, number: count }))
    await rest()
  }
  say({ event: "wrote", by, count })
}

async function read(live) {
  const session = await stream({ url, offset: "-1", live, json: true, fetch: watching(live) })
  await new Promise((resolve, reject) => {
    session.subscribeJson((batch) => {
      if (batch.items.length > 0) say({ event: "read", by: live, records: batch.items })
      if (batch.items.some((record) => record.writer === "end")) resolve()
    })
    session.closed.then(() => reject(new Error("the session has ended before the last record")), reject)
  })
  session.cancel()
}

// finish appends the last record, once every writer has stopped.
async function finish(writers) {
  await Promise.all(writers)
  const handle = new DurableStream({ url, contentType: "application/json", fetch: watching("end") })
  await handle.append(JSON.stringify({ writer: "end", number: 0 }))
  say({ event: "wrote", by: "end", count: 1 })
}

try {
  await DurableStream.create({ url, contentType: "application/json", fetch: watching("create") })
  await Promise.all([read("sse"), read("long-poll"), finish([produce(), append()])])
  process.exit(0)
} catch (error) {
  fail("client", error?.stack ?? error)
  process.exit(1)
}
