"""kcat both ways, by the commands of the documentation: from topics into `carillon render`, and from there into topics."""

import collections
import json
import os
import pathlib
import re
import subprocess
import unittest

from generator.events import Events, Mix
from generator.inputs import Input
from generator.subscriptions import well_formed
from harness.harness import Harness
from harness.project import ROOT
from harness.rendering import line_of, record_of
from harness.seed import seed_of_run
from model.partitions import murmur2_partition
from model.records import Record

SEED = seed_of_run()


def documented(*words):
    """The one command of the README and docs/ that has all the words."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S):
            commands = re.split(r"\n(?! )", re.sub(r"^#.*\n", "", block, flags=re.M).strip())
            found += [each for each in commands if all(word in each for word in words)]
    if not found:
        raise AssertionError(f"no page has a command with {words}")
    return found[0]


class Kcat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness = Harness(SEED, os.environ)
        cls.addClassCleanup(harness.close)
        cls.world = world = harness.make_world("kcat", partitions=3, places=30, crowd=3, poison_rate=0)
        world.create_topics()
        world.produce(150)
        cls.cluster = world.cluster
        (world.folder / "cluster.properties").write_text(f"bootstrap.servers={cls.cluster.bootstrap}\n")
        (world.folder / "bin").mkdir()
        (world.folder / "bin" / "carillon").symlink_to(pathlib.Path(harness.carillon).resolve())
        (world.folder / "Examples").symlink_to(ROOT / "Examples")

    def run_documented(self, command, **topics):
        """Runs it as it stands, but for the names of the topics: those are the test's."""
        for name, replacement in topics.items():
            command = command.replace({"events": "orders.events"}.get(name, f"notifications.{name}"), replacement)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "CARILLON"))} | {
            "PATH": f"{self.world.folder}/bin:{os.environ['PATH']}",
            "CARILLON_TOPIC_DISPATCH": topics.get("dispatch", self.world.topics["dispatch"]),
            "CARILLON_TOPIC_DEAD_LETTERS": topics.get("dead_letters", self.world.topics["dead-letters"]),
            "CARILLON_TIME_ZONE": self.world.rules.time_zone,
        }
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.world.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr[-1000:]}")
        return done.stdout

    def test_from_a_topic_into_render_gives_what_the_pipeline_wrote(self):
        daemon = self.world.daemon("a").start()
        self.world.wait_until_done()
        daemon.stop()
        topics = {name: self.world.topics[name] for name in ("events", "subscriptions", "dispatch")}
        table = self.run_documented("kcat -F cluster.properties -C -t notifications.subscriptions -e -q -J", **topics)
        (self.world.folder / "subscriptions.jsonl").write_text(table)
        explained = self.run_documented(documented("kcat", "-C -t orders.events", "carillon render", "--explain"), **topics)
        rendered = [json.loads(line) for line in explained.split("\n")[:-1]]
        pushes = collections.Counter(
            json.dumps({name: each[name] for name in ("topic", "headers", "key", "payload")})
            for each in rendered
            if each.get("topic")
        )
        written = self.run_documented(
            documented("kcat", "-C -t notifications.dispatch", "jq -c '{topic, headers, key, payload}'"), **topics
        )
        self.assertEqual(pushes, collections.Counter(json.dumps(json.loads(line)) for line in written.split("\n")[:-1]))
        self.assertGreater(sum(pushes.values()), 150)
        self.assertTrue(all("source" in each["explain"] for each in rendered))

    def test_from_render_back_into_topics_keeps_key_value_and_headers(self):
        places, subscriptions = self.world.events.places, self.world.subscriptions
        (self.world.folder / "subscriptions.jsonl").write_bytes(b"".join(each.value + b"\n" for each in well_formed(subscriptions)))
        good = Events(SEED, places, Mix(poison_rate=0))
        records = [good.next() for _ in range(15)]
        bad = b'{"event_type":"ORDER_\xff\x00","order":"it\'s $HOME \n `date`"}\n'
        records += [
            Input(b"\xff\x00key", bad),
            Input(b"", b""),
            Input(b"a'b", b"[]", (("odd", b"'\" $x"), ("none", None))),
            Input(None, b"{"),
            Input(b"tombstone", None),
        ]
        (self.world.folder / "events.jsonl").write_text(
            "".join(line_of(Record("orders.events", 0, at, 1_772_323_200_000, *each)) + "\n" for at, each in enumerate(records))
        )
        topics = {name: f"{self.world.name}.back.{name}" for name in ("dispatch", "dead_letters")}
        self.cluster.create_topics({name: (5, {}) for name in topics.values()})
        command = documented("carillon render", "Examples/kcat.jq")
        self.run_documented(command, **topics)
        expected = self.run_documented(command.partition("|")[0], **topics).split("\n")[:-1]
        wanted = [record_of(line, at) for at, line in enumerate(expected)]
        found = [record for name in topics.values() for record in self.cluster.read(name)]
        self.assertEqual({each.topic for each in wanted}, set(topics.values()))
        self.assertEqual(sorted(map(parts, wanted)), sorted(map(parts, found)))
        for record in found:
            if record.key is not None:
                self.assertEqual(record.partition, murmur2_partition(record.key, 5))


def parts(record):
    """What must be kept, in an order of its own: repr() tells null from nothing."""
    return repr((record.topic, record.key, record.value, tuple(record.headers)))


if __name__ == "__main__":
    unittest.main()
