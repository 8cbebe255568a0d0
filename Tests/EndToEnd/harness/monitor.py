"""Watches from outside, while faults happen, how long readers of the output have to wait."""

import threading
import time

from confluent_kafka import KafkaException

from harness.cluster import Cluster


class Monitor(threading.Thread):
    """Samples the last stable offsets and the ends of some topics, twice a second, and the group's lag in its inputs."""

    def __init__(self, bootstrap, topics, group, inputs):
        super().__init__(name="monitor", daemon=True)
        self.cluster, self.topics, self.group, self.inputs = Cluster(bootstrap), topics, group, inputs
        self.samples = []
        self.lag = None
        self._halted = threading.Event()

    def run(self):
        while not self._halted.wait(0.5):
            try:
                self.samples.append((time.monotonic(), self._look()))
                self.lag = sum(self.cluster.lag(self.group, topic) for topic in self.inputs)
            except KafkaException:
                self.note_outage()

    def _look(self):
        offsets = {}
        for topic in self.topics:
            stable, ends = self.cluster.ends(topic), self.cluster.ends(topic, uncommitted=True)
            offsets |= {(topic, partition): (stable[partition], end) for partition, end in ends.items()}
        return offsets

    def note_outage(self):
        """A broker is unreachable, or only just back: nobody could end a transaction."""
        self.samples.append((time.monotonic(), None))

    def halt(self):
        self._halted.set()
        self.join()
