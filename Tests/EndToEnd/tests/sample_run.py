"""A small input, and the right output for it."""

import collections
import json

from generator.events import Events, Mix
from generator.inputs import BASE_MS
from generator.subscriptions import SubscriptionChanges, make_subscriptions
from model import rules
from model.messages import headers_of, is_too_large, value_of
from model.orders import Orders, Watermark, stored_hash
from model.output import compact
from model.partitions import murmur2_partition
from model.records import Outcome, Record, Settings
from model.subscriptions import Subscriptions, recipients

SETTINGS = Settings("Europe/Berlin")
PARTITIONS = 6
SEED = 20260301
EVENTS = 600
MAX_TABLE_AGE_MS = 5_000
START_MS = BASE_MS + 8 * 3_600_000


class SampleRun:
    """One event per second, and a tick whenever a timer is due."""

    def __init__(self):
        places, subscriptions = make_subscriptions(SEED, places=20, crowd=30)
        changes = SubscriptionChanges(SEED, places, subscriptions)
        self.frozen = len(subscriptions)
        subscriptions = subscriptions + [changes.next() for _ in range(EVENTS)]
        # The changes come one a second, one before each event.
        self.table = [
            Record("subscriptions", 0, at, START_MS + max(0, at - self.frozen + 1) * 1000, *each)
            for at, each in enumerate(subscriptions)
        ]
        self.subscriptions = Subscriptions(self.table)
        events = Events(SEED, places, Mix(0.05, slots_from=START_MS + 360_000, slots_zone=SETTINGS.time_zone))
        self.ends, self.states = collections.Counter(), {}
        self.records, self.dispatch, self.letters, self.journal, self.ticks = [], [], [], [], []
        # What must not be sent: to a device that has unsubscribed, for a duplicate, for an order that has been picked.
        self.unsubscribed = self.duplicate = self.picked = None
        for number in range(EVENTS):
            self.position = [self.frozen + number + 1]
            self.now = START_MS + number * 1000
            self._event(events.next())
            self.now += 500
            for partition, state in self.states.items():
                if state.next_due(self.now) is not None:
                    self._tick(partition, state)

    def _entry(self, partition, before, after, record=None):
        at = self.ends[partition] if record is None else record.offset
        span = {"topic": "orders.events", "partition": partition, "from": at, "to": at}
        if record is not None:
            span |= {"to": at + 1, "first": {"offset": at, "timestamp": record.timestamp, "key": stored_hash(record.key)}}
        mark = {"topic": "orders.events", "partition": partition, "before": before.w, "after": after.w}
        mark |= {f"{name}_p": each.p for name, each in (("before", before), ("after", after)) if each.p}
        if after > before:
            mark["until"] = self.now
        return {
            "v": 2,
            "group": "g",
            "cluster": "c",
            "dispatch": "dispatch",
            "ranges": [span],
            "watermarks": [mark],
            "clock": self.now,
            "table": self.position,
            "rules": "abc",
        }

    def _event(self, each):
        partition = murmur2_partition(each.key or b"", PARTITIONS)
        record = Record("orders.events", partition, self.ends[partition], self.now, *each)
        self.ends[partition] += 1
        self.records.append(record)
        if partition not in self.states:
            self.states[partition] = Orders(SETTINGS)
            self.states[partition].watermark = Watermark(START_MS)
        state = self.states[partition]
        self.journal.append(self._entry(partition, state.watermark, state.watermark, record))
        outcome = rules.outcome_of(record, SETTINGS, state)
        if outcome.suppressed == "duplicate" and not self.duplicate:
            # As if nothing were known of its order.
            again = rules.outcome_of(record, SETTINGS)
            self.duplicate = next((push(n, device, record) for n in again.notifications for device in self._devices(n)), None)
        reached = [(n, self._devices(n)) for n in outcome.notifications]
        if any(devices and is_too_large(n) for n, devices in reached):
            outcome = Outcome(dead_letter=frozenset(["payload_too_large"]))
        if outcome.dead_letter:
            headers = {
                "topic": "orders.events",
                "partition": str(partition),
                "offset": str(record.offset),
                "exception.message": "why",
            }
            ours = tuple((f"__connect.errors.{name}", value.encode()) for name, value in headers.items())
            code = (("x-error-code", sorted(outcome.dead_letter)[0].encode()),)
            self.letters.append((record.key, record.value, record.headers + ours + code))
            return
        for notification, devices in reached:
            self.dispatch += [push(notification, device, record) for device in devices]
            gone = [each for each in self._devices(notification, [self.frozen]) if each not in devices]
            if gone:
                self.unsubscribed = push(notification, gone[0], record)

    def _tick(self, partition, state):
        source = Record("schedule", partition, self.ends[partition], 0, None, None)
        end = Watermark(self.now)
        timers = state.due(state.watermark, end)
        for number, timer in enumerate(timers):
            # Slices of three.
            if number % 3 == 2 and timer != timers[-1]:
                self.ticks.append(self._entry(partition, state.watermark, timer.watermark))
                state.watermark = timer.watermark
            notification, reason = state.decide(timer, self.now, self.now)
            if notification:
                self.dispatch += [push(notification, device, source) for device in self._devices(notification)]
            elif reason == "picked":
                notification = state._notification(timer, state._orders[timer.order_id])
                self.picked = next((push(notification, device, source) for device in self._devices(notification)), self.picked)
        self.ticks.append(self._entry(partition, state.watermark, end))
        state.watermark = end

    def _devices(self, notification, position=None):
        return list(recipients(notification, self.subscriptions, SETTINGS, position or self.position))


def push(notification, device, record):
    headers = headers_of(notification, device, record, SETTINGS)
    return (
        device.token_hash.encode(),
        compact(value_of(notification, device, SETTINGS)).encode(),
        tuple((name, value.encode()) for name, value in headers.items()),
    )


def journal_records(entries):
    return [Record("journal", 0, at, 0, b"a-0", json.dumps(each).encode()) for at, each in enumerate(entries)]
