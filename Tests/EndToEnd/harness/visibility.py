"""How long events have to wait while timers fire, or requests are processed."""

import json
import threading
import time

from confluent_kafka import Consumer, TopicPartition

from harness.timers import order_event
from harness.waiting import PATIENCE, pause
from model.journal import watermarks_of


class Visibility:
    """Sends an event now and then, and notes how long it takes until its pushes can be read: until the journal's entry about
    it can, which is in the same transaction. It also collects the slices of ticks.

    `rate` is in events a second, `most` of them in total. `first_entries` says when the first entry about a topic was read."""

    def __init__(self, world, rate=5, most=1_000):
        self.rate, self.most, self.first_entries = rate, most, {}
        self.world, self.waiting, self.seconds, self.slices, self.is_over = world, {}, [], [], threading.Event()
        self.first_slice = None
        self.producer = world.cluster.producer(**{"linger.ms": 0})
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        # No more are sent; those that are on their way count, too.
        self.most = 0
        deadline = time.monotonic() + 30 * PATIENCE
        while self.waiting and time.monotonic() < deadline and self.thread.is_alive():
            pause()
        self.is_over.set()
        self.thread.join()

    @property
    def longest(self):
        """Of the events that were sent while timers fired: earlier ones may have waited for a backlog."""
        return max((seconds for began, seconds in self.seconds if self.first_slice and began >= self.first_slice), default=0)

    def _run(self):
        reader = Consumer(
            self.world.cluster.settings
            | {"group.id": "visibility", "isolation.level": "read_committed", "enable.auto.commit": False}
        )
        reader.assign([TopicPartition(self.world.topics["journal"], 0, 0)])
        next_event, number = time.monotonic(), 0
        while not self.is_over.is_set():
            if time.monotonic() > next_event and number < self.most:
                next_event, number = next_event + 1 / self.rate, number + 1
                place = self.world.places[number % len(self.world.places)]
                (key, value, _), _ = order_event(self.world, f"visible-{number}", place)
                began = time.monotonic()
                self.producer.produce(
                    self.world.topics["events"],
                    key=key,
                    value=value,
                    on_delivery=lambda _, record, began=began: self._delivered(record, began),
                )
            message = reader.poll(min(0.02, 1 / self.rate))
            # Only then: what an entry is about must be known as delivered, or it is waited for in vain.
            self.producer.poll(0)
            if message is None or message.error():
                continue
            entry = json.loads(message.value())
            self.slices += [mark for mark in entry["watermarks"] if len(set(watermarks_of(mark)[:2])) == 2]
            if self.slices and self.first_slice is None:
                self.first_slice = time.monotonic()
            for span in entry["ranges"]:
                self.first_entries.setdefault(span["topic"], time.monotonic())
                if span["topic"] != self.world.topics["events"]:
                    continue
                for offset in range(span["from"], span["to"]):
                    if (began := self.waiting.pop((span["partition"], offset), None)) is not None:
                        self.seconds.append((began, time.monotonic() - began))
        reader.close()

    def _delivered(self, record, began):
        self.waiting[record.partition(), record.offset()] = began
