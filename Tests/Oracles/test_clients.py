"""Another client reads what Carillon wrote on a real broker: keys, headers, tombstones, partitions, topics."""

import collections
import hashlib
import json
import os
import unittest

import yaml
from cloudevents.core.bindings.kafka import to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from confluent_kafka.admin import ConfigResource, ResourceType
from schemas import FOLDER, complaints

from generator.inputs import Input
from generator.subscriptions import well_formed
from harness.harness import Harness
from harness.seed import seed_of_run
from harness.world import TOPICS
from model.partitions import murmur2_partition
from model.values import is_utf8

SEED = seed_of_run()
TOKEN = "device-of-the-oracles"


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One run of the whole: topics, subscriptions and an unsubscription by Carillon's own commands, events, the daemon."""
        harness = Harness(SEED, os.environ)
        cls.addClassCleanup(harness.close)
        cls.world = world = harness.make_world("clients", partitions=12, places=60, crowd=20, poison_rate=0.05)
        cls.command("topics", "create", "--replication-factor", "1")
        file = world.folder / "subscriptions.jsonl"
        file.write_bytes(b"".join(each.value + b"\n" for each in well_formed(world.subscriptions)))
        cls.command("subscriptions", "import", str(file))
        cls.place = world.events.places[0]
        device = ("--audience", f"place/{cls.place}", "--platform", "fcm", "--app", "com.example.shop")
        cls.command("subscribe", *device, token=TOKEN)
        cls.command("unsubscribe", "--audience", f"place/{cls.place}", token=TOKEN)
        world.produce(1500)
        world.cluster.produce(
            world.topics["events"], [cls.cloud_event(mode, number) for number in range(10) for mode in (to_binary, to_structured)]
        )
        daemon = world.daemon("a").start()
        world.wait_until_done(120)
        daemon.stop()
        cls.records = {topic: world.cluster.read(world.topics[topic]) for topic in TOPICS}

    @classmethod
    def command(cls, *arguments, token=None):
        settings = cls.world.settings("a")
        settings = {name: settings[name] for name in settings if name.startswith(("kafka.", "topic."))}
        code, output, errors = cls.world.harness.run(*arguments, settings=settings, input=token and token.encode())
        assert code == 0, f"carillon {' '.join(arguments)} ended with {code}: {output}{errors}"

    @classmethod
    def cloud_event(cls, write, number):
        """A record that the CloudEvents SDK makes."""
        identity = f"{write.__name__}-{number}"
        event = CloudEvent(
            {
                "id": identity,
                "source": "/oracles",
                "type": "order.created",
                "specversion": "1.0",
                "datacontenttype": "application/json",
                "partitionkey": identity,
            },
            {"order": {"id": identity, "place_id": cls.place}},
        )
        message = write(event, JSONFormat())
        return Input(message.key.encode(), message.value, tuple(message.headers.items()))

    def topic(self, role):
        return {"events": "orders.events"}.get(role, f"notifications.{role}")

    def test_topics_are_as_asyncapi_describes_them(self):
        document = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text())
        channels = {channel["address"]: channel["bindings"]["kafka"] for channel in document["channels"].values()}
        for role in TOPICS:
            described = channels[self.topic(role)]
            resource = ConfigResource(ResourceType.TOPIC, self.world.topics[role])
            (found,) = [future.result(30) for future in self.world.cluster.admin.describe_configs([resource]).values()]
            with self.subTest(role):
                self.assertEqual(len(self.world.cluster.partitions(self.world.topics[role])), described["partitions"])
                for name, value in described["topicConfiguration"].items():
                    self.assertEqual(found[name].value, ",".join(value) if isinstance(value, list) else str(value), name)

    def test_every_record_is_as_its_schemas_say(self):
        for role in ("subscriptions", "dispatch", "dead-letters", "journal"):
            self.assertTrue(self.records[role])
            for record in self.records[role]:
                with self.subTest(seed=SEED, record=record):
                    self.assertEqual(complaints(record, self.topic(role)), [])

    def test_an_unsubscription_is_a_tombstone_in_the_partition_of_its_subscription(self):
        key = f"place/{self.place}|{hashlib.sha256(TOKEN.encode()).hexdigest()}".encode()
        subscribed, unsubscribed = [each for each in self.records["subscriptions"] if each.key == key]
        self.assertEqual(json.loads(subscribed.value)["token"], TOKEN)
        self.assertIsNone(unsubscribed.value)
        self.assertEqual(subscribed.partition, unsubscribed.partition)
        self.assertFalse(any(each.headers for each in self.records["subscriptions"]))
        self.assertNotIn(hashlib.sha256(TOKEN.encode()).hexdigest().encode(), {each.key for each in self.records["dispatch"]})

    def test_every_key_lies_where_a_Java_client_would_put_it(self):
        """Of test_murmur2, which shows that Java's hash is this one."""
        kinds = collections.Counter()
        for role in ("subscriptions", "dispatch", "dead-letters", "journal"):
            count = len(self.world.cluster.partitions(self.world.topics[role]))
            for record in self.records[role]:
                if record.key is not None:
                    kinds["empty" if not record.key else "UTF-8" if is_utf8(record.key) else "other"] += 1
                    with self.subTest(role, key=record.key):
                        self.assertEqual(record.partition, murmur2_partition(record.key, count))
        self.assertEqual(kinds.keys(), {"empty", "UTF-8", "other"}, "dead letters keep keys of every kind")

    def test_a_CloudEvent_of_the_SDK_is_pushed_in_both_modes(self):
        pushed = collections.Counter()
        for record in self.records["dispatch"]:
            for mode in ("to_binary", "to_structured"):
                pushed[mode] += f'\\"order_id\\":\\"{mode}-'.encode() in record.value
        self.assertEqual(pushed["to_binary"], pushed["to_structured"])
        self.assertGreaterEqual(pushed["to_binary"], 10)

    def test_nothing_is_lost_and_nothing_is_twice(self):
        report = self.world.verify()
        self.assertEqual(report.differences[:3], [])


if __name__ == "__main__":
    unittest.main()
