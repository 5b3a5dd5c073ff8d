//! One ride of Rust's reqwest, the HTTP client that the protocol's own Rust client stands on: POSTs of a producer and plain
//! ones write, an event stream and a long-poll read. See the package documentation of test/ride for what is printed.
//!
//!     streamshift-ride STREAM-URL

use std::{error::Error, future::Future, time::Duration};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{json, Value};
use tokio::{io::AsyncReadExt, sync::watch};

/// The time between two appends of a writer.
const PAUSE: Duration = Duration::from_millis(20);

/// Bounds one request; above the longest long-poll and the longest event stream.
const TIMEOUT: Duration = Duration::from_secs(120);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn say(event: &Value) {
    println!("{event}");
}

fn fail(by: &str, text: &str) {
    say(&json!({"event": "error", "by": by, "text": text}));
}

/// Sends a request, which must be answered with success.
async fn ask(request: RequestBuilder) -> Outcome<Response> {
    Ok(request.send().await?.error_for_status()?)
}

/// One stream and a client of its own, so that no two writers or readers share a connection.
struct Ride {
    client: Client,
    url: String,
}

impl Ride {
    fn new(url: &str) -> Outcome<Self> {
        Ok(Self { client: Client::builder().timeout(TIMEOUT).build()?, url: url.into() })
    }

    async fn append(&self, by: &str, number: u64, headers: &[(&str, String)]) -> Outcome<()> {
        let mut request = self.client.post(&self.url).json(&json!({"writer": by, "number": number}));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        ask(request).await?;
        Ok(())
    }

    /// Appends plainly until the writers shall stop.
    async fn append_plainly(&self, mut stopped: watch::Receiver<bool>) -> Outcome<()> {
        let mut count = 0;
        while !rest(&mut stopped).await {
            self.append("plain", count, &[]).await?;
            count += 1;
        }
        say(&json!({"event": "wrote", "by": "plain", "count": count}));
        Ok(())
    }

    /// Appends with a producer's identity until the writers shall stop.
    async fn produce(&self, mut stopped: watch::Receiver<bool>) -> Outcome<()> {
        let mut count = 0;
        while !rest(&mut stopped).await {
            let identity =
                [("Producer-Id", "producer".into()), ("Producer-Epoch", "0".into()), ("Producer-Seq", count.to_string())];
            self.append("producer", count, &identity).await?;
            count += 1;
        }
        say(&json!({"event": "wrote", "by": "producer", "count": count}));
        Ok(())
    }

    /// Reads by long-poll until the last record.
    async fn poll(&self) -> Outcome<()> {
        let (mut offset, mut cursor) = (String::from("-1"), String::new());
        loop {
            let url = format!("{}?live=long-poll&offset={offset}&cursor={cursor}", self.url);
            let response = ask(self.client.get(url)).await?;
            offset = header(&response, "stream-next-offset")?;
            cursor = header(&response, "stream-cursor")?;
            let body = response.bytes().await?;
            if !body.is_empty() && took(&serde_json::from_slice(&body)?, "long-poll") {
                return Ok(());
            }
        }
    }

    /// Reads event streams, one after the other, until the last record.
    async fn events(&self) -> Outcome<()> {
        let mut events = Events { offset: "-1".into(), ..Events::default() };
        loop {
            let url = format!("{}?live=sse&offset={}", self.url, events.offset);
            let mut response = ask(self.client.get(url)).await?;
            while let Some(chunk) = response.chunk().await? {
                if events.take(&chunk)? {
                    return Ok(());
                }
            }
            if !events.data.is_empty() || !events.rest.is_empty() {
                return Err("the event stream has ended in the middle of a group".into());
            }
        }
    }
}

/// Where the reader of event streams is.
#[derive(Default)]
struct Events {
    offset: String,
    /// What came behind the last whole line.
    rest: Vec<u8>,
    kind: String,
    /// The data of a group whose control event has not come yet.
    data: String,
}

impl Events {
    /// Takes in bytes of an event stream; true with the last record.
    fn take(&mut self, chunk: &[u8]) -> Outcome<bool> {
        self.rest.extend_from_slice(chunk);
        while let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = std::str::from_utf8(&line)?.trim_end();
            if let Some(kind) = line.strip_prefix("event:") {
                self.kind = kind.trim().into();
            } else if let Some(data) = line.strip_prefix("data:") {
                if self.kind == "data" {
                    self.data.push_str(data);
                    continue;
                }
                let control: Value = serde_json::from_str(data)?;
                self.offset = control["streamNextOffset"].as_str().ok_or("a control event has no offset")?.into();
                let data = std::mem::take(&mut self.data);
                if !data.is_empty() && took(&serde_json::from_str(&data)?, "sse") {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

fn header(response: &Response, name: &str) -> Outcome<String> {
    let value = response.headers().get(name).ok_or_else(|| format!("an answer has no {name}"))?;
    Ok(value.to_str()?.into())
}

/// Tells of records that were read; true with the last one.
fn took(records: &Value, by: &str) -> bool {
    say(&json!({"event": "read", "by": by, "records": records}));
    records.as_array().is_some_and(|all| all.iter().any(|record| record["writer"] == "end"))
}

/// Waits a while; true where the writers shall stop.
async fn rest(stopped: &mut watch::Receiver<bool>) -> bool {
    tokio::time::timeout(PAUSE, stopped.wait_for(|stop| *stop)).await.is_ok()
}

/// Runs a part of the ride, and tells why it failed.
async fn part(by: &str, work: impl Future<Output = Outcome<()>>) -> bool {
    match work.await {
        Ok(()) => true,
        Err(error) => {
            fail(by, &format!("{error:?}"));
            false
        }
    }
}

/// Waits until standard input ends.
async fn stop(stop: watch::Sender<bool>) {
    let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
    let _ = stop.send(true);
}

async fn write(url: &str, stopped: watch::Receiver<bool>) -> Outcome<()> {
    let (producer, plain, last) = (Ride::new(url)?, Ride::new(url)?, Ride::new(url)?);
    let (produced, appended) = tokio::join!(
        part("producer", producer.produce(stopped.clone())),
        part("plain", plain.append_plainly(stopped)),
    );
    if produced && appended {
        last.append("end", 0, &[]).await?;
        say(&json!({"event": "wrote", "by": "end", "count": 1}));
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let url = std::env::args().nth(1).ok_or("usage: streamshift-ride STREAM-URL")?;
    let (sse, poll) = (Ride::new(&url)?, Ride::new(&url)?);
    ask(poll.client.put(&url).header("Content-Type", "application/json")).await?;
    let (stopping, stopped) = watch::channel(false);
    tokio::join!(
        stop(stopping),
        part("end", write(&url, stopped)),
        part("sse", sse.events()),
        part("long-poll", poll.poll()),
    );
    Ok(())
}
