"""One ride of the Python client: its append writes, its event stream and its long-poll read.

See the package documentation of test/ride for what is printed.

    python ride.py STREAM-URL
"""

import json
import sys
import threading

import httpx
from durable_streams import DurableStream, stream

PAUSE = 0.02  # seconds between two appends of a writer
TIMEOUT = 40.0  # seconds; above the longest long-poll

url = sys.argv[1]
stopped = threading.Event()
printing = threading.Lock()


def say(**event):
    with printing:
        print(json.dumps(event), flush=True)


def fail(by, text):
    say(event="error", by=by, text=str(text))


def watching(by):
    """Returns an HTTP client that reports every answer that is no success."""

    def look(response):
        if not response.is_success:
            fail(by, f"{response.request.method} is answered {response.status_code}")

    return httpx.Client(timeout=TIMEOUT, event_hooks={"response": [look]})


def append():
    by = "plain"
    with watching(by) as client:
        handle = DurableStream(url, content_type="application/json", client=client)
        count = 0
        while not stopped.wait(PAUSE):
            handle.append({"writer": by, "number": count})
            count += 1
        say(event="wrote", by=by, count=count)
        handle.append({"writer": "end", "number": 0})
        say(event="wrote", by="end", count=1)


def read(live):
    offset = "-1"
    with watching(live) as client:
        while True:
            # The client's session of an event stream ends with its connection, which servers end from time to time.
            session = stream(url, offset=offset, live=live, client=client)
            for event in session.iter_events(mode="json"):
                offset = event.next_offset
                if event.data:
                    say(event="read", by=live, records=event.data)
                if any(record["writer"] == "end" for record in event.data):
                    session.close()
                    return


def run(by, do, *arguments):
    try:
        do(*arguments)
    except Exception as error:  # noqa: BLE001, whatever it is, the ride has failed
        fail(by, repr(error))


def main():
    with watching("create") as client:
        DurableStream.create(url, content_type="application/json", client=client)
    threads = [
        threading.Thread(target=run, args=("plain", append)),
        threading.Thread(target=run, args=("sse", read, "sse"), daemon=True),
        threading.Thread(target=run, args=("long-poll", read, "long-poll"), daemon=True),
    ]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stopped.set()
    for thread in threads:
        thread.join()


run("client", main)
