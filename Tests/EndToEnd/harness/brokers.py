"""Brokers of a test's own, by Scripts/kafka."""

import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile

from harness.project import ROOT
from harness.waiting import Failure


class Brokers:
    """A cluster of the test's own; `options` are those of `Scripts/kafka start`. It is removed at the end of a `with`."""

    def __init__(self, kafka_home, *options, nodes=1):
        self.kafka_home, self.options, self.nodes = kafka_home, options, nodes
        self.folder, self.bootstrap = pathlib.Path(tempfile.mkdtemp(prefix="carillon-brokers.")), None

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.remove()

    def __str__(self):
        jar = next(pathlib.Path(self.kafka_home, "libs").glob("kafka-clients-*.jar"), None)
        return f"{self.nodes} × Kafka {jar.stem.removeprefix('kafka-clients-') if jar else 'of an unknown version'}"

    def start(self, *arguments):
        """The bootstrap addresses. Brokers that were stopped or killed come back with their data and ports."""
        self.bootstrap = self._kafka("start", "--nodes", self.nodes, *self.options, *arguments)
        return self.bootstrap

    def stop(self, *arguments):
        """In order: a lone one is back sooner than after a kill."""
        self._kafka("stop", *arguments)

    def kill(self, *arguments):
        self._kafka("kill", *arguments)

    def pid(self, node=1):
        return int((self.folder / str(node) / "pid").read_text())

    def remove(self):
        try:
            self._kafka("stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _kafka(self, verb, *arguments):
        """What Scripts/kafka prints."""
        done = subprocess.run(
            [ROOT / "Scripts" / "kafka", verb, self.folder, *map(str, arguments)],
            env=os.environ | {"KAFKA_HOME": self.kafka_home},
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise Failure(f"Scripts/kafka {verb}: {done.stderr[-500:]}")
        return done.stdout.strip()


def free_port():
    """Below the range that outgoing connections take theirs from: otherwise a client that waits there may meet itself."""
    for port in random.SystemRandom().sample(range(15_000, 32_000), 1_000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failure("no port is free")
