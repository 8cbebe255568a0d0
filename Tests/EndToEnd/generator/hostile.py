"""Seeded records that are meant to do harm: to end a process, to hold a partition up, to take memory, to forge what others say.

They go to topics and audiences that honest traffic uses too, but not to its places, users and channels: what a writer may do there
is in docs/security.md. Whatever they are, the honest ones are sent.
"""

import collections
import json
import random
import struct
from typing import NamedTuple, Optional

from generator.broadcasts import Broadcasts
from generator.dispatch import Pushes
from generator.events import Events, Mix
from generator.inputs import DAY_MS, Input, compact, iso, subscription, subscription_key
from generator.poison import POISONS
from generator.requests import Requests

PLACES = ("filled", "few", "none")
# Devices of the first place.
FILLED = 150
TOPICS = ("broadcasts", "events", "requests", "subscriptions", "dispatch")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Of each class that a terminal must not get, and what ends a C string or is no text.
TEXTS = (
    "\x1b]0;forged\x07\x1b[2J",
    "\x00",
    "\x9b31m\u2028\u202e",
    "../../etc/passwd",
    "%s%n{0}",
    "😀" * 400,
    "x" * 3_600,
)
TIMES = (0, 1, 2**31, 2**53, 2**63 - 1, 253_402_300_800_000)
FORGED = (
    ("__connect.errors.topic", b"orders.events"),
    ("__connect.errors.partition", b"0"),
    ("__connect.errors.offset", b"-9223372036854775808"),
    ("x-error-code", b"unreadable_batch"),
    ("replay-of", b"msg-1-000000000"),
    ("source", b"orders.events/0/0"),
    ("message-id", b"msg-0-000000000"),
    ("expires-at", b"99999999999999999999"),
    ("delivery", b"\xff" * 300),
)


class Hostile(NamedTuple):
    """A record for the topic of a role. `timestamp` is in milliseconds, None: now. Without a `codec` one is drawn."""

    kind: str
    topic: str
    input: Input
    timestamp: Optional[int] = None
    codec: Optional[str] = None


class HostileProducer:
    """Draws them; every kind has its turn, in an order of the seed's."""

    def __init__(self, seed, now):
        self.chance, self.now = random.Random(f"hostile {seed}"), now
        self.events = Events(seed, list(PLACES), Mix(poison_rate=0, slots_zone="Europe/Berlin"))
        self.requests = Requests(f"hostile {seed}", ["user/hostile", "place/filled", "channel/hostile"], bad_rate=1)
        self.broadcasts = Broadcasts(f"hostile {seed}", ["hostile"])
        # Not the ids of honest ones, which it would replace.
        self.broadcasts.made = 1_000_000
        self.pushes = Pushes(f"hostile {seed}", 20)
        self.waiting, self.turns = [], collections.Counter()

    def subscriptions(self):
        """Those that are there from the first: what hostile events are sent to."""
        return [subscription(PLACES[0], f"made-up-{number}") for number in range(FILLED)] + [subscription(PLACES[1], "made-up-0")]

    def next(self):
        if not self.waiting:
            self.waiting = list(KINDS)
            self.chance.shuffle(self.waiting)
        kind = self.waiting.pop()
        made = KINDS[kind](self)
        drawn = {"timestamp": self.chance.choice(TIMES)} if self.chance.random() < 0.2 else {}
        return made._replace(kind=kind, codec=made.codec or self.chance.choice(CODECS), **drawn)

    # What the kinds are made of.

    def order(self, **members):
        return {"id": self.events.uuid(), "place_id": self.chance.choice(PLACES), "status": "pending"} | members

    def event(self, event_type="ORDER_CREATED", headers=(), event_id=None, **members):
        event = {"event_id": event_id or self.events.uuid(), "event_type": event_type, "order": self.order()} | members
        return Hostile("", "events", Input(event["event_id"][:1_000].encode(), compact(event), tuple(headers)))

    def to(self, topic, key, value, headers=(), **more):
        return Hostile(
            "", topic, Input(key, value if value is None or isinstance(value, bytes) else compact(value), headers), **more
        )

    def next_topic(self, kind):
        """Each in its turn, for each kind."""
        self.turns[kind] += 1
        return TOPICS[(self.turns[kind] - 1) % len(TOPICS)]

    def honest_form(self, topic):
        """A record as an honest producer writes it, to be spoiled."""
        if topic == "events":
            return self.events.next()
        if topic == "requests":
            return Input(b"user/hostile", compact({"audience": "user/hostile", "message": {"title": "a"}}))
        if topic == "broadcasts":
            return self.broadcasts.next(self.now, "new")
        if topic == "dispatch":
            return self.pushes.next(1, self.now)[0]
        return subscription(self.chance.choice(PLACES), f"made-up-{self.chance.randrange(FILLED)}")

    def mutated(self):
        """An honest form with bytes changed, taken out, put in, or said again."""
        topic, chance = self.next_topic("mutated"), self.chance
        record = self.honest_form(topic)
        value = bytearray(record.value)
        for _ in range(chance.randrange(1, 8)):
            at, many = chance.randrange(len(value) + 1), chance.randrange(1, 30)
            value[at : at + chance.choice((0, many))] = chance.choice((b"", chance.randbytes(many), value[at : at + many] * 3))
        return self.to(topic, record.key, bytes(value), record.headers)

    def with_headers(self):
        topic, chance = self.next_topic("headers"), self.chance
        record = self.honest_form(topic)
        many = [(f"h{number}", b"") for number in range(chance.choice((0, 1, 20_000)))]
        headers = [*record.headers, *many, *chance.sample(FORGED, 5), ("x" * 30_000, b"\0" * 100_000)]
        chance.shuffle(headers)
        return self.to(topic, record.key, record.value, tuple(headers))

    def with_times(self):
        topic = self.next_topic("times")
        record = self.honest_form(topic)
        return self.to(topic, record.key, record.value, record.headers, timestamp=self.chance.choice(TIMES))

    def list_event(self):
        orders = [self.order() for _ in range(self.chance.choice((1, 200)))]
        members = {f"m{number}": number for number in range(30_000)}
        return self.event("ORDER_IDS_LISTED", orders=orders, **members)

    def slot_event(self):
        slot = {
            "date": iso(self.now + self.chance.choice((0, DAY_MS, 400 * DAY_MS)))[:10],
            "start_time": "14:00",
            "end_time": "13:00",
        }
        return self.event(order=self.order(shipping_info={"slot": slot}, order_number=self.chance.choice(TEXTS)))

    def poison(self):
        record = POISONS[self.chance.choice(list(POISONS))](self.events)
        return self.to("events", record.key, record.value, record.headers)

    def odd_texts(self):
        text = self.chance.choice(TEXTS)
        return self.event(order=self.order(id=text, order_number=text, status=text), event_id=text * self.chance.choice((1, 200)))

    def bomb(self):
        """A batch of some KB that becomes 120 MB, more than a consumer decompresses."""
        return self.to(self.next_topic("bomb"), b"bomb", b"a" * 120_000_000, codec="zstd")

    def large_batch(self):
        """A batch that a consumer decompresses, of 30 MB."""
        return self.to(
            self.next_topic("large"), b"large", b"a" * 30_000_000, codec=self.chance.choice(("gzip", "lz4", "zstd", "snappy"))
        )

    def subscription_record(self):
        chance, token = self.chance, f"made-up-{self.chance.randrange(10**6)}"
        audience = chance.choice(("place/filled", "device/" + "0" * 64, "team/7", "place/" + "x" * 300, "user/\x9b\u202e", 7, None))
        value = {
            "audience": audience,
            "token": chance.choice((token, "", "x" * 100_000, 7)),
            "platform": chance.choice(("fcm", "sms")),
        }
        value |= {
            "app": chance.choice(("a", "x" * 300, None)),
            "locale": chance.choice(TEXTS),
            "last_seen_at": chance.choice(TIMES),
        }
        key = chance.choice((subscription_key(str(audience), token), None, b"", b"\xff" * 50_000, b"place/filled|"))
        return self.to("subscriptions", key, chance.choice((value, value, b"", None, b"[" * 50_000)))

    def request(self):
        record = self.requests.next(self.now).input
        return self.to("requests", record.key, record.value, record.headers)

    def large_request(self):
        audiences = [f"user/{number}" for number in range(1_000)]
        data = {"type": "Generic"} | {f"k{number}": "x" for number in range(self.chance.choice((10, 50_000)))}
        body = {"audience": audiences, "app": {"title": "a", "body": "b", "data": data}, "request_id": "x" * 1_000}
        return self.to("requests", b"user/0", body, (("traceparent", b"0" * 500_000),))

    def broadcast(self):
        record = self.broadcasts.next(self.now, self.chance.choice(("bad", "new", "over")))
        return self.to("broadcasts", record.key, record.value, record.headers)

    def push(self):
        """What stands in the dispatch topic as if the pipeline had written it."""
        chance, record = self.chance, self.pushes.next(1, self.now)[0]
        headers = dict(record.headers)
        name = chance.choice(list(headers))
        headers[name] = chance.choice((b"", b"\xff", b"9" * 40, b"-1", b"x" * 200_000))
        value = json.loads(record.value)
        value |= chance.choice(({}, {"device_token": "x" * 10_000}, {"headers": {"a\r\nb": "c"}}, {"message": {"token": "\x00"}}))
        key = chance.choice((record.key, None, b"", b"\0" * 64))
        return self.to("dispatch", key, chance.choice((value, b"{}", b"", None, b"[" * 100_000)), tuple(headers.items()))

    def frame(self):
        """Confluent's frame around nothing, around itself, and around a schema that is none."""
        inner = self.chance.choice((b"", b"\0" * 5_000, struct.pack(">bI", 0, 2**32 - 1) + b"{}"))
        return self.to(self.next_topic("frame"), None, b"\0\0\0\0\1" + inner)


KINDS = {
    "a traceparent of 900 KB": lambda h: h.event(headers=[("traceparent", b"0" * 900_000)]),
    "a traceparent twice": lambda h: h.event(headers=[("traceparent", b"00-" + b"f" * 32)] * 2_000),
    "bytes changed": HostileProducer.mutated,
    "bytes changed again": HostileProducer.mutated,
    "headers": HostileProducer.with_headers,
    "times": HostileProducer.with_times,
    "many orders beside many members": HostileProducer.list_event,
    "slots": HostileProducer.slot_event,
    "poison": HostileProducer.poison,
    "texts": HostileProducer.odd_texts,
    "a bomb": HostileProducer.bomb,
    "a large batch": HostileProducer.large_batch,
    "a subscription": HostileProducer.subscription_record,
    "a request": HostileProducer.request,
    "a large request": HostileProducer.large_request,
    "a broadcast": HostileProducer.broadcast,
    "a push": HostileProducer.push,
    "a frame": HostileProducer.frame,
}
