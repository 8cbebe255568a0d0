"""What a pipeline has to write: the pushes and dead letters that follow from its input and from the journal."""

import bisect
import collections
import itertools
from typing import NamedTuple, Optional

from model import rules
from model.messages import is_too_large
from model.orders import Orders, Watermark
from model.records import Outcome, Record
from model.subscriptions import recipients


class Tick(NamedTuple):
    """The timers between two watermarks fired, when the partition was read up to the offset."""

    offset: int
    before: Watermark
    after: Watermark
    # The time of the tick, and that of its transaction.
    until: int
    clock: int
    table: Optional[list]


class Letter(NamedTuple):
    """A dead letter: the record, the codes that it may have, and the sentences, where they are known."""

    record: Record
    codes: frozenset
    sentences: frozenset = frozenset()


def covering(spans):
    """From offsets to the spans in which their records were processed; None where no journal says it."""
    spans = [span for span in spans if span.last > span.first]

    def span_of(offset):
        at = bisect.bisect_right(spans, offset, key=lambda span: span.first) - 1
        return spans[at] if at >= 0 and offset < spans[at].last else None

    return span_of


class Expectation:
    """What must have been written, by the rules.

    `until` and `timers_until` are those of `verify.Run`.
    """

    def __init__(self, table, settings, until=None, timers_until=None):
        self.table, self.settings, self.until, self.timers_until = table, settings, until, timers_until
        # By source, message id and hash of the token: the record, the notification, the device, and the push's place in order.
        self.pushes = {}
        # The audiences that were notified, by source and message id.
        self.audiences = {}
        # By source.
        self.letters = {}
        # The timers that were due and have not been looked at, by topic and partition.
        self.waiting = {}
        self.count = collections.Counter()

    def add_partition(self, records, spans=(), start=0):
        """The records of one partition, and what the journal says of them. Records before `start` are only remembered: they
        were there before the group."""
        state = Orders(self.settings)
        span_of = covering(spans)
        ticks = [
            Tick(span.last, span.before, span.after, span.until, span.clock, span.table)
            for span in spans
            if span.after > span.before
        ]
        reached = records[0].offset if records else 0
        for record in records:
            while ticks and ticks[0].offset <= record.offset:
                self._fire(ticks.pop(0), records[0], state)
            if self.until is not None and record.timestamp > state.newest:
                self._play(min(record.timestamp - 1, self.until), reached, records[0], state)
            if record.offset < start:
                rules.outcome_of(record, self.settings, state)
            else:
                self._take(record, state, span_of(record.offset))
            reached = record.offset + 1
        for tick in ticks:
            self._fire(tick, records[0], state)
        if self.until is not None:
            self._play(self.until, reached, records[0], state)
        if self.timers_until is not None and (waiting := state.due(state.watermark, Watermark(self.timers_until))):
            self.waiting[records[0].topic, records[0].partition] = waiting
        self.count["out of order"] += state.out_of_order

    def _take(self, record, state, span):
        self.count["events"] += 1
        position = span.table if span else None
        outcome = rules.outcome_of(record, self.settings, state, span.clock if span else None)
        if outcome.dead_letter is None:
            reached = [(each, self._devices(each, position)) for each in outcome.notifications]
            if any(devices and is_too_large(each, devices, self.settings) for each, devices in reached):
                outcome = Outcome(dead_letter=frozenset(["payload_too_large"]))
        if outcome.dead_letter is not None:
            self.letters[record.source] = Letter(record, outcome.dead_letter)
            return
        if outcome.suppressed:
            self.count[outcome.suppressed] += 1
        for index, (each, devices) in enumerate(reached):
            self._expect(record, each, devices, (record.partition, record.offset, 1, index))

    def _play(self, until, reached, first, state):
        """Timers that each fire at the moment at which they are due."""
        if state.next_due(until) is None:
            return
        for due, timers in itertools.groupby(state.due(state.watermark, Watermark(until)), key=lambda timer: timer.due):
            self._fire(Tick(reached, state.watermark, Watermark(due), due, due, None), first, state, timers)

    def _fire(self, tick, first, state, timers=None):
        source = Record("schedule", first.partition, tick.offset, 0, None, None)
        for timer in state.due(tick.before, tick.after) if timers is None else timers:
            notification, reason = state.decide(timer, tick.until, tick.clock)
            self.count[f"timers {reason or ('sent' if notification else 'forgotten')}"] += 1
            if notification:
                position = (first.partition, tick.offset, 0, timer.due)
                self._expect(source, notification, self._devices(notification, tick.table), position)
        state.watermark = tick.after

    def _devices(self, notification, position):
        return list(recipients(notification, self.table, self.settings, position))

    def _expect(self, record, notification, devices, position):
        self.count["notifications"] += 1
        self.audiences[record.source, notification.message_id] = notification.audiences
        for device in devices:
            identity = (record.source, notification.message_id, device.token_hash)
            self.pushes[identity] = (record, notification, device, position)


def make_expectation(run, table, ledger, report):
    """The expectation of a whole run; its counts go into the report."""
    expectation = Expectation(table, run.settings, run.until, run.timers_until)
    partitions = collections.defaultdict(list)
    for record in run.events:
        partitions[record.topic, record.partition].append(record)
    for partition, records in partitions.items():
        expectation.add_partition(records, ledger.get(partition, ()), run.starts.get(partition, 0))
    for (topic, partition), waiting in expectation.waiting.items():
        report.add(
            "timers missing (I8)",
            f"{topic}/{partition}: {len(waiting)} were due and have not been looked at, the first {waiting[0]}",
        )
    count = expectation.count
    report.counts = {
        "events": count.pop("events", 0),
        "notifications": count.pop("notifications", 0),
        "expected pushes": len(expectation.pushes),
    } | dict(sorted(count.items()))
    return expectation
