"""Kafka's own murmur2, run by Java from KAFKA_HOME, gives the hashes that ours are tested against."""

import os
import pathlib
import random
import subprocess
import unittest

from harness.seed import seed_of_run
from model.partitions import murmur2_partition

FOLDER = pathlib.Path(__file__).resolve().parent
# Read by Tests/KafkaClientTests/Murmur2Tests.swift, too: keys in hexadecimal, and Java's hashes of them.
VECTORS = FOLDER / "murmur2.tsv"
SEED = seed_of_run()


def java_hashes(keys):
    classes = f"{os.environ['KAFKA_HOME']}/libs/*"
    lines = "".join(key.hex() + "\n" for key in keys)
    done = subprocess.run(
        ["java", "-cp", classes, FOLDER / "Murmur.java"], input=lines, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise AssertionError(f"java: {done.stderr[-1000:]}")
    return [int(line) for line in done.stdout.split()]


class Murmur2(unittest.TestCase):
    def test_the_vectors_are_Java_s(self):
        rows = [line.split("\t") for line in VECTORS.read_text().splitlines()]
        keys = [bytes.fromhex(key) for key, _ in rows]
        self.assertGreater(len(keys), 250)
        self.assertEqual({len(key) % 4 for key in keys}, {0, 1, 2, 3})
        self.assertIn(b"", keys)
        self.assertEqual(java_hashes(keys), [int(expected) for _, expected in rows])

    def test_a_Java_client_puts_random_keys_where_the_broker_tests_expect_them(self):
        chance = random.Random(SEED)
        keys = [chance.randbytes(chance.randrange(100)) for _ in range(5_000)] + [b"", b"\xff", "plåce|☃".encode()]
        for key, found in zip(keys, java_hashes(keys), strict=True):
            for count in (1, 3, 12, 1000):
                self.assertEqual((found & 0x7FFFFFFF) % count, murmur2_partition(key, count), f"seed {SEED}: {key!r} of {count}")


if __name__ == "__main__":
    unittest.main()
