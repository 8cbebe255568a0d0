"""The examples of producers in Python and Java: their subscriptions are in the right partitions, are listed, and can be ended."""

import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from harness.harness import Harness
from model.partitions import murmur2_partition

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Examples/producers"
PARTITIONS = 12
TOKENS = [f"device-{number}" for number in range(6)]


class Producers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness = Harness(1, os.environ)
        cls.addClassCleanup(harness.close)
        cls.world = world = harness.make_world("producers", partitions=PARTITIONS)
        cls.command("topics", "create", "--replication-factor", "1")
        classes = tempfile.TemporaryDirectory()
        cls.addClassCleanup(classes.cleanup)
        cls.programs = {"python": [sys.executable, FOLDER / "subscriptions.py"]}
        if kafka := os.environ.get("KAFKA_HOME"):
            libraries = f"{kafka}/libs/*"
            subprocess.run(["javac", "-cp", libraries, "-d", classes.name, FOLDER / "Subscriptions.java"], check=True)
            cls.programs["java"] = ["java", "-cp", f"{classes.name}:{libraries}", "Subscriptions"]
        cls.environment = os.environ | {"SUBSCRIPTIONS_TOPIC": world.topics["subscriptions"]}
        for language in cls.programs:
            for token in TOKENS:
                cls.produce(language, token, "register", f"place/{language}", "fcm", "com.example.shop")

    @classmethod
    def command(cls, *arguments, token=None, expected=0):
        settings = {name: value for name, value in cls.world.settings("a").items() if name.startswith(("kafka.", "topic."))}
        code, output, errors = cls.world.harness.run(*arguments, settings=settings, input=token and token.encode())
        assert code == expected, f"carillon {' '.join(arguments)} ended with {code}: {output}{errors}"
        return output

    @classmethod
    def produce(cls, language, token, *arguments):
        command = [*cls.programs[language], cls.world.cluster.bootstrap, *arguments]
        subprocess.run(command, input=token.encode(), env=cls.environment, check=True, timeout=60)

    def listed(self, language):
        lines = self.command("subscriptions", "list", "--json", "--audience", f"place/{language}").splitlines()
        return {row["token_sha256"]: row for row in map(json.loads, lines)}

    def test_each_record_is_in_murmur2_s_partition(self):
        found = collections.defaultdict(set)
        for record in self.world.cluster.read(self.world.topics["subscriptions"]):
            self.assertEqual(record.partition, murmur2_partition(record.key, PARTITIONS), record.key)
            found[record.key.split(b"|")[0].decode()].add(record.partition)
        for language in self.programs:
            self.assertGreater(len(found[f"place/{language}"]), 1, "one partition alone would prove nothing")

    def test_each_is_listed_as_well_placed_and_ended_by_unsubscribe_and_by_its_own_program(self):
        for language in self.programs:
            with self.subTest(language):
                rows = self.listed(language)
                self.assertEqual(rows.keys(), {hashlib.sha256(token.encode()).hexdigest() for token in TOKENS})
                self.assertFalse([row for row in rows.values() if "belongs_in" in row])
                self.command("unsubscribe", "--audience", f"place/{language}", token=TOKENS[0])
                self.command("unsubscribe", "--audience", f"place/{language}", token=TOKENS[0], expected=1)
                for token in TOKENS[1:]:
                    self.produce(language, token, "unregister", f"place/{language}")
                self.assertEqual(self.listed(language), {})


if __name__ == "__main__":
    unittest.main()
