"""CloudEvents that the CloudEvents SDK writes are read as the same events, in both modes of the Kafka binding."""

import datetime
import json
import os
import random
import unittest

from cloudevents.core.bindings.kafka import to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from cloudevents.v1.http import CloudEvent as EarlierCloudEvent
from cloudevents.v1.kafka import to_binary as to_binary_earlier
from cloudevents.v1.kafka import to_structured as to_structured_earlier

from generator.events import STATUSES, Events, Mix
from generator.inputs import compact, subscription
from generator.orders import new_order
from harness.harness import Harness
from harness.rendering import records_of, render
from harness.seed import seed_of_run
from model.envelope import EVENT_TYPES
from model.messages import message_id
from model.records import Record

SEED = seed_of_run()
SUBSCRIPTION = subscription("p1", "device-1", environment="production")
MOMENT = datetime.datetime(2026, 3, 1, 9, 30, 15, 250_000, datetime.timezone(datetime.timedelta(hours=2)))


def events(count=60):
    """Orders with their types, as a producer has them before it picks an envelope."""
    made, chance = Events(SEED, ["p1", "p1"], Mix(poison_rate=0)), random.Random(SEED)
    for number in range(count):
        order = new_order(made)
        kind = EVENT_TYPES[number % 4]
        order["status"] = chance.choice(STATUSES[1:])
        yield f"id-{number}", kind, {"order": order, "previous_status": "pending"}


def attributes_of(identity, kind):
    return {
        "id": identity,
        "source": "/orders/uos",
        "type": f"com.example.{kind.replace('_', '.')}.v1",
        "time": MOMENT,
        "partitionkey": f"key-{identity}",
        "subject": "an order",
    }


def received(message, offset):
    key = message.key.encode() if isinstance(message.key, str) else message.key
    value = message.value.encode() if isinstance(message.value, str) else message.value
    return Record("orders.events", 0, offset, 0, key, value, tuple(message.headers.items()))


class CloudEvents(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, write):
        """`write` makes a Kafka message of (attributes, data); the push must be that of the native envelope, under the
        message id of source and id."""
        records, native = [], []
        for identity, kind, data in events():
            records.append(received(write(attributes_of(identity, kind), data), len(records)))
            native.append(
                Record(
                    "orders.events",
                    0,
                    len(native),
                    0,
                    None,
                    compact({"event_type": kind.upper(), "occurred_at": MOMENT.isoformat()} | data),
                )
            )
        payloads, expected = self.payloads(records), self.payloads(native)
        self.assertEqual(len(payloads), len(records))
        moment = int(MOMENT.timestamp() * 1000)
        for (identity, kind, _), payload, wanted in zip(events(), payloads, expected):
            with self.subTest(seed=SEED, id=identity):
                wanted |= {"message_id": message_id("ce", ["/orders/uos", identity], "event_" + kind, wanted["order_id"], moment)}
                self.assertEqual(payload, wanted)

    def payloads(self, records):
        found = []
        # Of every type: those from a scheduler upstream, too.
        for record in records_of(render(self.harness, records, [SUBSCRIPTION.value], "--set", "schedule=off")):
            self.assertEqual(record.topic, "notifications.dispatch", dict(record.headers))
            found.append(json.loads(json.loads(record.value)["message"]["data"]["default"])["data"])
        return found

    def test_structured(self):
        self.check(
            lambda attributes, data: to_structured(
                CloudEvent(attributes | {"datacontenttype": "application/json", "specversion": "1.0"}, data), JSONFormat()
            )
        )

    def test_binary(self):
        self.check(
            lambda attributes, data: to_binary(
                CloudEvent(attributes | {"datacontenttype": "application/json", "specversion": "1.0"}, data), JSONFormat()
            )
        )

    def test_structured_around_bytes(self):
        """Data that the SDK has as bytes stands as base64 in the envelope."""
        self.check(
            lambda attributes, data: to_structured(CloudEvent(attributes | {"specversion": "1.0"}, compact(data)), JSONFormat())
        )

    def test_structured_by_the_earlier_SDK(self):
        self.check(lambda attributes, data: to_structured_earlier(EarlierCloudEvent(texts(attributes), data)))

    def test_binary_by_the_earlier_SDK(self):
        self.check(
            lambda attributes, data: to_binary_earlier(
                EarlierCloudEvent(texts(attributes) | {"datacontenttype": "application/json"}, data),
                data_marshaller=compact,
            )
        )


def texts(attributes):
    return attributes | {"time": attributes["time"].isoformat()}


if __name__ == "__main__":
    unittest.main()
