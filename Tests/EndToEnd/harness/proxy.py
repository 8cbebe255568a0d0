"""A TCP proxy before a broker that does to a client's connections what networks do.

It knows as much of Kafka's protocol as it needs: a frame begins with its length; then a request has api key, version,
correlation id and client.id, and its reply the correlation id.
"""

import asyncio
import collections
import math
import random
import struct
import sys
import threading
import time
from typing import NamedTuple

END_TXN = 26
TXN_OFFSET_COMMIT = 28
DROPPED = math.inf


class Hold(NamedTuple):
    """For how many seconds a request and its reply are held; whatever follows on the connection waits for them."""

    request: float = 0
    reply: float = 0


NOT_HELD = Hold()


class Faults:
    """What happens to the connections of one client. It can be set before and while they are open; `counts` says what was done."""

    def __init__(self, seed=0):
        self.chance = random.Random(f"network {seed}")
        self.lifetime = None  # the shortest and the longest time until a connection is cut, in seconds
        self.latency = 0  # in each direction, in seconds
        self.rate = None  # how many bytes a second a connection takes from the client
        self.leaves_at = None  # the api key of the request that the broker no longer gets, since it is away from then on
        self.is_away = False  # no connection lasts, and none is made
        self.commit = lambda _: NOT_HELD  # what becomes of the count-th EndTxn that commits
        self.counts = collections.Counter()
        self.late_answers = collections.Counter()  # the broker's, to commits that were held, by error code

    def on_request(self, frame):
        api_key, _, _ = struct.unpack_from(">hhi", frame, 4)
        if api_key == self.leaves_at:
            self.leaves_at, self.is_away = None, True
        # The flag that tells a commit from an abort is the last byte.
        if api_key != END_TXN or frame[-1] != 1:
            return NOT_HELD
        self.counts["commits"] += 1
        hold = self.commit(self.counts["commits"])
        if hold.request:
            self.counts["commits held"] += 1
        if hold.reply:
            self.counts["replies held"] += 1
        return hold


class Proxy:
    """Listens at `port`; each connection leads to the broker's port, with the faults of the client.id of its first request."""

    def __init__(self):
        # Each frame waits for the interpreter where a verifier computes: 5 ms a time is more than Kafka takes.
        sys.setswitchinterval(0.0005)
        self.faults = collections.defaultdict(Faults)
        self.broker_port = None
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def _accept(self, reader, writer):
        connection = None
        try:
            first = await _frame(reader)
            faults = self.faults[_client_id(first)]
            if faults.is_away:
                return
            upstream = await asyncio.open_connection("127.0.0.1", self.broker_port)
            connection = _Connection(faults, (reader, writer), upstream)
            await connection.run(first)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            if connection:
                connection.abort()


class _Connection:
    def __init__(self, faults, client, upstream):
        self.faults, self.client, self.upstream = faults, client, upstream
        self.held = {}  # by correlation id
        self.cut_at = None
        self.taken_until = 0
        faults.counts["connections"] += 1

    def abort(self):
        for _, writer in (self.client, self.upstream):
            writer.transport.abort()

    async def run(self, first):
        requests, replies = asyncio.Queue(), asyncio.Queue()
        self._take_request(first, requests)
        reads_requests, writes_requests, reads_replies, writes_replies = tasks = [
            asyncio.ensure_future(each)
            for each in (
                _read(self.client[0], requests, self._take_request),
                _write(requests, self.upstream[1]),
                _read(self.upstream[0], replies, self._take_reply),
                _write(replies, self.client[1]),
            )
        ]
        try:
            ended = set()
            while not ended and not self._is_to_be_cut():
                ended, _ = await asyncio.wait((reads_requests, reads_replies), timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
            if reads_requests in ended:
                # What a client sent before it went away still arrives, and is answered.
                await writes_requests
                await asyncio.wait((reads_replies,), timeout=5)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _is_to_be_cut(self):
        if self.faults.is_away:
            return True
        if not self.faults.lifetime:
            self.cut_at = None
            return False
        if self.cut_at is None:
            self.cut_at = time.monotonic() + self.faults.chance.uniform(*self.faults.lifetime)
        is_due = time.monotonic() >= self.cut_at
        self.faults.counts["cut"] += is_due
        return is_due

    def _take_request(self, frame, queue):
        hold = self.faults.on_request(frame)
        if self.faults.is_away:
            return
        if hold != NOT_HELD:
            self.held[frame[8:12]] = hold
        now = time.monotonic()
        if self.faults.rate:
            self.taken_until = max(self.taken_until, now) + len(frame) / self.faults.rate
        queue.put_nowait((max(self.taken_until, now) + self.faults.latency + hold.request, frame))

    def _take_reply(self, frame, queue):
        hold = self.held.pop(frame[4:8], NOT_HELD)
        if hold.request:
            # The error code follows the correlation id and the throttle time.
            self.faults.late_answers[struct.unpack_from(">h", frame, 12)[0]] += 1
        queue.put_nowait((time.monotonic() + self.faults.latency + hold.reply, frame))


async def _read(reader, queue, take):
    try:
        while True:
            take(await _frame(reader), queue)
    except (OSError, asyncio.IncompleteReadError):
        queue.put_nowait((0, None))


async def _write(queue, writer):
    while (entry := await queue.get())[1]:
        # A reply that is dropped is never due; neither is what follows it.
        await asyncio.sleep(min(entry[0] - time.monotonic(), 3600))
        if writer.is_closing():
            return
        writer.write(entry[1])
        await writer.drain()


async def _frame(reader):
    length = await reader.readexactly(4)
    return length + await reader.readexactly(struct.unpack(">i", length)[0])


def _client_id(frame):
    (length,) = struct.unpack_from(">h", frame, 12)
    return frame[14 : 14 + length].decode() if length > 0 else ""
