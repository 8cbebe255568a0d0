"""Checks what a pipeline wrote against what it had to write. Pure: records in, differences out.

The invariants' numbers are those of the proof: I1 nothing lost, I2 nothing twice, I3 order kept per order, I4 every
device that is subscribed where the table stood gets it once, I5 none that is not, and the table neither goes back nor
stays behind, I6 a process's table is the fold of its topic, I7 the journal covers every input offset exactly once,
I8 the timers that follow from the orders' state and from the watermarks in the journal are sent, and no others; a
watermark goes on from where it stood, never ahead of the clock or of the log, I10 a transaction that nobody ends holds
its readers up for a limited time.
"""

import bisect
import collections
import functools
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from model import rules
from model.orders import Orders, Watermark, stored_hash

SHOWN_PER_KIND = 3
# What a clock that is asked before a broker may differ from that broker's.
CLOCK_SLACK_MS = 100


@dataclass
class Report:
    counts: dict = field(default_factory=dict)
    differences: list = field(default_factory=list)

    def add(self, kind, sentence):
        self.differences.append((kind, sentence))

    def print(self):
        print("verifier: " + ", ".join(f"{count:,} {name}" for name, count in self.counts.items()))
        kinds = collections.Counter(kind for kind, _ in self.differences)
        for kind, count in kinds.items():
            print(f"  {kind}: {count:,}")
            for _, sentence in [each for each in self.differences if each[0] == kind][:SHOWN_PER_KIND]:
                print(f"    {sentence}")
        print("verifier: " + (f"{len(self.differences):,} DIFFERENCES" if kinds else "no difference"))


@functools.lru_cache(maxsize=None)
def murmur2_partition(key, count):
    """The partition that a Java client gives a key."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if tail := key[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return ((h ^ h >> 15) & 0x7FFFFFFF) % count


def verify(
    events,
    subscriptions,
    dispatch,
    dead_letters,
    journal,
    settings,
    starts,
    ends,
    dispatch_partitions,
    max_table_age_ms=None,
    until=None,
    timers_until=None,
    is_set_by_hand=False,
):
    """Differences between what was written and what follows from `events`, `subscriptions` and the journal's positions.

    `starts` and `ends` are the first and the next offset of each partition of the events' topic, as far as the group
    has to have come; events before `starts` are what it was told of the orders' past. Records are in the order of their offsets within each partition; `dispatch` is read once.
    Without `max_table_age_ms` the subscriptions were there before the first event, and all of them must count; else they
    changed meanwhile, and one that is older than that must count. Timers fire where the journal says it; where there is
    none, up to `until`, each as soon as it is due by the records' timestamps. With `timers_until` those that were due up
    to that moment must have fired, or been dropped with a reason. Where offsets were set by hand, so were watermarks: each
    to a moment of its own.
    """
    report = Report()
    table = rules.Subscriptions(subscriptions)
    ledger = _check_journal(journal, starts, ends, max(table.ends, default=-1) + 1, report)
    _check_positions(ledger, subscriptions, table.ends, max_table_age_ms, report)
    _check_watermarks(ledger, events, settings.schedule, is_set_by_hand, report)
    _check_fingerprints(ledger, events, report)
    expected, places, letters = _expect(events, table, ledger, starts, settings, (until, timers_until), report)
    dispatched = _check_dispatch(dispatch, expected, places, table, settings, dispatch_partitions, report)
    _check_dead_letters(dead_letters, letters, report)
    report.counts |= {"dispatched": dispatched, "dead letters": len(dead_letters), "journal records": len(journal)}
    return report


class Span(NamedTuple):
    """What one transaction covered of one partition, its timer watermarks, where the table stood, its clock, the T of its
    tick, and the fingerprint of its first record."""

    first: int
    last: int
    table: Optional[list]
    clock: int
    place: str
    before: Watermark = Watermark(0)
    after: Watermark = Watermark(0)
    until: int = 0
    fingerprint: Optional[dict] = None


class Tick(NamedTuple):
    """Timers fired: those between two watermarks, when the partition was read to the offset, in a tick at T or a slice of it."""

    offset: int
    before: Watermark
    after: Watermark
    until: int
    clock: int
    table: Optional[list]


def _covering(spans):
    """The span that the record at an offset was processed in; None where no journal says it."""
    covering = [span for span in spans if span.last > span.first]

    def span_of(offset):
        at = bisect.bisect_right(covering, offset, key=lambda span: span.first) - 1
        return covering[at] if at >= 0 and offset < covering[at].last else None

    return span_of


class Expectation:
    """The pushes by source, message id and device; the places that were notified; the dead letters by source."""

    def __init__(self, table, settings):
        self.table, self.settings = table, settings
        self.pushes, self.places, self.letters, self.waiting = {}, {}, {}, {}
        # By partition, order and type: the last push, which a newer one in its transaction takes back.
        self.newest = {}
        self.count = collections.Counter()

    def partition(self, records, spans, start, until, timers_until):
        """Records before `start` are only remembered: they were there before the group."""
        state = Orders(self.settings)
        span_of = _covering(spans)
        ticks = [
            Tick(span.last, span.before, span.after, span.until, span.clock, span.table)
            for span in spans
            if span.after > span.before
        ]
        reached = records[0].offset if records else 0
        for record in records:
            while ticks and ticks[0].offset <= record.offset:
                self._fire(ticks.pop(0), records[0], state)
            if until is not None and record.timestamp > state.newest:
                self._play(min(record.timestamp - 1, until), reached, records[0], state)
            if record.offset < start:
                rules.outcome_of(record, self.settings, state)
            else:
                self._take(record, state, span_of(record.offset))
            reached = record.offset + 1
        for tick in ticks:
            self._fire(tick, records[0], state)
        if until is not None:
            self._play(until, reached, records[0], state)
        if timers_until is not None and (waiting := state.due(state.watermark, Watermark(timers_until))):
            self.waiting[records[0].topic, records[0].partition] = waiting
        self.count["out of order"] += state.out_of_order

    def _take(self, record, state, span):
        self.count["events"] += 1
        position = span.table if span else None
        outcome = rules.outcome_of(record, self.settings, state)
        if outcome.dead_letter is None:
            reached = [(each, self._devices(each, position)) for each in outcome.notifications]
            self._supersede(record, reached, span)
            if any(devices and rules.is_too_large(each) for each, devices in reached):
                outcome = rules.Outcome(dead_letter=frozenset(["payload_too_large"]))
        if outcome.dead_letter is not None:
            self.letters[record.source] = (record, outcome.dead_letter)
            return
        if outcome.suppressed:
            self.count[outcome.suppressed] += 1
        for index, (each, devices) in enumerate(reached):
            self._expect(record, each, devices, (record.partition, record.offset, 1, index))

    def _supersede(self, record, reached, span):
        """Takes back what an earlier event of the order was to give: of those in one transaction only the newest push goes."""
        for notification, devices in reached:
            event_type = notification.payload["event_type"].removeprefix("event_")
            if span is None or event_type not in self.settings.superseding:
                continue
            key = (record.partition, notification.order_id, event_type)
            older = self.newest.get(key)
            self.newest[key] = span.first, record.source, notification.message_id, devices
            if older is None or older[0] != span.first:
                continue
            _, source, message_id, devices = older
            self.count["superseded"] += 1
            if self.letters.pop(source, None) is None:
                self.count["notifications"] -= 1
                del self.places[source, message_id]
                for device in devices:
                    del self.pushes[source, message_id, device.token_hash]

    def _play(self, until, reached, first, state):
        """Timers that fire each at the moment at which it is due."""
        if state.next_due(until) is None:
            return
        for due, timers in itertools.groupby(state.due(state.watermark, Watermark(until)), key=lambda timer: timer.due):
            self._fire(Tick(reached, state.watermark, Watermark(due), due, due, None), first, state, timers)

    def _fire(self, tick, first, state, timers=None):
        source = rules.Record("schedule", first.partition, tick.offset, 0, None, None)
        for timer in state.due(tick.before, tick.after) if timers is None else timers:
            notification, reason = state.decide(timer, tick.until, tick.clock)
            self.count[f"timers {reason or ('sent' if notification else 'forgotten')}"] += 1
            if notification:
                position = (first.partition, tick.offset, 0, timer.due)
                self._expect(source, notification, self._devices(notification, tick.table), position)
        state.watermark = tick.after

    def _devices(self, notification, position):
        return list(rules.recipients(notification, self.table, self.settings, position))

    def _expect(self, record, notification, devices, position):
        self.count["notifications"] += 1
        self.places[record.source, notification.message_id] = notification.place_id
        for device in devices:
            identity = (record.source, notification.message_id, device.token_hash)
            self.pushes[identity] = (record, notification, device, position)


def _expect(events, table, ledger, starts, settings, times, report):
    expectation = Expectation(table, settings)
    partitions = collections.defaultdict(list)
    for record in events:
        partitions[record.topic, record.partition].append(record)
    for partition, records in partitions.items():
        expectation.partition(records, ledger.get(partition, ()), starts.get(partition, 0), *times)
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
    return expectation.pushes, expectation.places, expectation.letters


def _check_watermarks(ledger, events, has_timers, is_set_by_hand, report):
    """I8, as far as it needs no state."""
    # A tick at T has read everything that the broker had at T. Without timers the watermark only goes with the clock.
    appended = collections.defaultdict(list)
    for record in events if has_timers else ():
        appended[record.topic, record.partition].append(record)
    for partition, spans in ledger.items():
        name, before = f"{partition[0]}/{partition[1]}", None
        for span in spans:
            if span.after < span.before:
                report.add("a watermark went back (I8)", f"{name}: {span.before} to {span.after}, in {span.place}")
            if before is not None and span.before != before and not (is_set_by_hand and span.before > before):
                report.add("a watermark jumped (I8)", f"{name}: {before}, then {span.before}, in {span.place}")
            before = span.after
            if span.after == span.before:
                continue
            if span.until > span.clock:
                report.add("timers early (I8)", f"{name}: up to {span.until} at {span.clock}, in {span.place}")
            if span.after > Watermark(span.until):
                report.add("a tick beyond its T (I8)", f"{name}: {span.after} by {span.until}, in {span.place}")
            late = next(
                (
                    record
                    for record in appended[partition]
                    if record.offset >= span.last and record.timestamp < span.until - CLOCK_SLACK_MS
                ),
                None,
            )
            if late is not None:
                report.add(
                    "timers overtook the log (I8)",
                    f"{late.source} was there at {late.timestamp}; timers up to {span.until} fired at {span.last}, in {span.place}",
                )


def _check_fingerprints(ledger, events, report):
    """Each range that is not empty names its first record, so that nobody takes it for one of another log."""
    records = {(record.topic, record.partition, record.offset): record for record in events}
    for (topic, partition), spans in ledger.items():
        for span in spans:
            if span.fingerprint is None:
                continue
            offset = next((at for at in range(span.first, span.last) if (topic, partition, at) in records), None)
            record = records.get((topic, partition, offset))
            wanted = record and {"offset": offset, "timestamp": record.timestamp, "key": stored_hash(record.key)}
            if span.fingerprint != wanted:
                report.add("wrong fingerprint", f"{topic}/{partition}: {span.fingerprint}, expected {wanted}, in {span.place}")


def _check_positions(ledger, subscriptions, table_ends, max_age_ms, report):
    """I4 and I5 are checked at the positions that the journal names; here, whether those are new enough."""
    written = collections.defaultdict(lambda: ([], []))
    for record in subscriptions:
        times, offsets = written[record.partition]
        times.append(max(record.timestamp, times[-1] if times else 0))
        offsets.append(record.offset)
    for (topic, partition), spans in ledger.items():
        before = None
        for span in spans:
            if span.table is None:
                continue
            name = f"{topic}/{partition} {span.first} to {span.last}, in {span.place}"
            for at, end in table_ends.items():
                if before and span.table[at] < before[at]:
                    report.add("the table went back (I5)", f"{name}: partition {at} at {span.table[at]}, was {before[at]}")
                if max_age_ms is None:
                    needed = end
                else:
                    times, offsets = written[at]
                    old = bisect.bisect_left(times, span.clock - max_age_ms)
                    needed = offsets[old - 1] + 1 if old else 0
                if span.table[at] < needed:
                    report.add("the table is too old (I5)", f"{name}: partition {at} at {span.table[at]}, must be {needed}")
            before = span.table


def _check_dispatch(dispatch, expected, places, table, settings, partitions, report):
    """The number of records."""
    seen, last, count = {}, {}, 0
    for record in dispatch:
        count += 1
        place = f"{record.topic}/{record.partition}/{record.offset}"
        headers = {name: value.decode(errors="replace") if value is not None else None for name, value in record.headers}
        key = (record.key or b"").decode(errors="replace")
        identity = (headers.get("source"), headers.get("message-id"), key)
        if identity not in expected:
            place_id = places.get(identity[:2])
            if place_id is not None and table.knows(f"place/{place_id}", key):
                report.add("pushed while not subscribed (I5)", f"{place}: {identity}")
            else:
                report.add("unexpected push (I2)", f"{place}: source, message id and device {identity} follow from no event")
            continue
        if identity in seen:
            report.add("pushed twice (I2)", f"{place} repeats {seen[identity]}: {identity}")
            continue
        seen[identity] = place
        event, notification, device, position = expected[identity]

        order = (event.partition, notification.order_id, key)
        if order in last and last[order][0] > position:
            report.add("order not kept (I3)", f"{place} ({event.source}) comes after {last[order][1]}, of a later event")
        last[order] = (position, place)
        if record.partition != murmur2_partition(record.key, partitions):
            report.add("wrong partition", f"{place}: murmur2 of the key gives {murmur2_partition(record.key, partitions)}")
        _check_value(record, place, notification, device, settings, report)
        wanted = rules.headers_of(notification, device, event, settings)
        if headers != wanted or len(record.headers) != len(wanted):
            report.add("wrong headers", f"{place} ({event.source}): {headers}, expected {wanted}")

    for identity, (event, notification, device, _) in expected.items():
        if identity not in seen:
            report.add(
                "lost push (I1, I4)",
                f"{event.source} ({notification.payload['event_type']}) to {device.platform} device {device.token_hash[:12]}…",
            )
    return count


def _check_value(record, place, notification, device, settings, report):
    try:
        value = json.loads(record.value)
    except (TypeError, ValueError) as error:
        report.add("wrong value", f"{place}: not JSON: {error}")
        return
    wanted = rules.value_of(notification, device, settings)
    if value != wanted:
        report.add(
            "wrong value",
            f"{place}:\n      found    {json.dumps(value, ensure_ascii=False)}"
            f"\n      expected {json.dumps(wanted, ensure_ascii=False)}",
        )


def _check_dead_letters(dead_letters, letters, report):
    seen = {}
    for record in dead_letters:
        place = f"{record.topic}/{record.partition}/{record.offset}"
        own = [(name, value) for name, value in record.headers if _is_ours(name)]
        named = {name: (value or b"").decode(errors="replace") for name, value in own}
        source = "/".join(named.get(f"__connect.errors.{part}", "?") for part in ("topic", "partition", "offset"))
        if source not in letters:
            report.add("unexpected dead letter", f"{place}: {source} is no poison: {named}")
            continue
        if source in seen:
            report.add("dead letter twice", f"{place} repeats {seen[source]}: {source}")
            continue
        seen[source] = place
        original, codes = letters[source]
        if named.get("x-error-code") not in codes:
            report.add("wrong error code", f"{place}: {named.get('x-error-code')}, expected {' or '.join(sorted(codes))}")
        if not named.get("__connect.errors.exception.message"):
            report.add("no reason", f"{place}: no __connect.errors.exception.message")
        kept = tuple(header for header in record.headers if not _is_ours(header[0]))
        for name, found, wanted in (
            ("key", record.key, original.key),
            ("value", record.value, original.value),
            ("headers", kept, original.headers),
        ):
            if found != wanted:
                report.add(f"dead letter's {name} changed", f"{place} ({source}): {_short(found)}, was {_short(wanted)}")
    for source, (_, codes) in letters.items():
        if source not in seen:
            report.add("lost dead letter", f"{source}, expected {' or '.join(sorted(codes))}")


def _is_ours(name):
    return name.startswith("__connect.errors.") or name == "x-error-code"


def _short(value):
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:80]}… ({len(value)} long)"


def watermarks_of(entry):
    """Before and after, and the tick's T, of a journal's watermark."""
    before, after = (Watermark(entry[name], entry.get(f"{name}_p", "")) for name in ("before", "after"))
    return before, after, entry.get("until", after.w)


def _check_journal(journal, starts, ends, table_partitions, report):
    """The spans of each partition, in their order."""
    spans = collections.defaultdict(list)
    for record in journal:
        place = f"{record.topic}/{record.partition}/{record.offset}"
        try:
            value = json.loads(record.value)
            missing = {"watermarks", "clock", "table", "rules"} - value.keys()
            table = value.get("table")
            if table is not None and len(table) < table_partitions:
                table = None
            # A version before this one says less.
            is_first_version = "v" not in value
            if not is_first_version:
                missing |= {"group", "cluster", "dispatch"} - value.keys()
            watermarks = {(each.get("topic"), each["partition"]): watermarks_of(each) for each in value.get("watermarks", ())}
            for each in value["ranges"]:
                marks = watermarks.get((None if is_first_version else each["topic"], each["partition"]), ())
                if not is_first_version and ("first" in each) != (each["to"] > each["from"]):
                    missing |= {"first"}
                spans[each["topic"], each["partition"]].append(
                    Span(each["from"], each["to"], table, value.get("clock", 0), place, *marks, fingerprint=each.get("first"))
                )
        except (TypeError, ValueError, KeyError) as error:
            report.add("journal record not readable", f"{place}: {error!r}")
            continue
        if missing or not value["rules"] or not record.key:
            report.add("journal record incomplete", f"{place}: without {', '.join(sorted(missing)) or 'rules or key'}")
        elif table is None:
            report.add("journal record incomplete", f"{place}: table position {value['table']}")
    for topic, partition in sorted(starts.keys() | spans.keys()):
        at, end = starts.get((topic, partition), 0), ends.get((topic, partition), 0)
        spans[topic, partition].sort(key=lambda span: (span.first, span.last, span.before, span.after))
        for first, last, _, _, place, *_ in spans[topic, partition]:
            if first > at:
                report.add("journal misses offsets (I7)", f"{topic}/{partition}: {at} to {first}, before {place}")
            elif first < at:
                report.add("journal repeats offsets (I7)", f"{topic}/{partition}: {first} to {min(at, last)}, in {place}")
            at = max(at, last)
        if at != end:
            report.add("journal misses offsets (I7)", f"{topic}/{partition}: it ends at {at}, the events at {end}")
    return spans


def table_digest(subscriptions, position):
    """What `carillon table check` must print of a table that has applied the records below the position (I6)."""
    total = count = 0
    for audience in subscriptions.audiences():
        audience_hash = hashlib.sha256(audience.encode()).hexdigest()[:32]
        for device in subscriptions.at(audience, position):
            last_seen = "-" if device.last_seen is None else device.last_seen
            line = (
                f"{audience_hash} {device.token_hash} {device.platform} {device.environment} {last_seen} "
                f"{device.app} {device.token}"
            )
            total ^= int(hashlib.sha256(line.encode()).hexdigest(), 16)
            count += 1
    return count, f"{total:064x}"


def check_table(found, name, subscriptions, report):
    """Compares what `carillon table check --json` said of a process's table with the fold of its topic (I6)."""
    # One that was killed before it had applied anything says nothing.
    position = found["offsets"] or [0] * (max(subscriptions.ends, default=-1) + 1)
    if any(not 0 <= position[partition] <= end for partition, end in subscriptions.ends.items()):
        report.add("table outside its topic (I6)", f"{name}: {position}, the topic ends at {subscriptions.ends}")
        return
    count, digest = table_digest(subscriptions, position)
    if (found["devices"], found["digest"]) != (count, digest):
        report.add(
            "table is not the fold (I6)",
            f"{name} at {position}: {found['devices']} devices, {found['digest'][:16]}…, expected {count}, {digest[:16]}…",
        )


def longest_stall(samples):
    """The longest time in seconds for which a last stable offset stood behind the end of its partition without moving,
    and that partition.

    Samples are (time, offsets) with (last stable offset, end) by partition; None for offsets where a broker was away,
    which starts the count anew: nobody can end a transaction then.
    """
    longest, where, since = 0.0, None, {}
    for time, offsets in samples:
        if offsets is None:
            since.clear()
            continue
        for partition, (stable, end) in offsets.items():
            if stable >= end:
                since.pop(partition, None)
                continue
            stood, began = since.get(partition, (None, None))
            if stood != stable:
                since[partition] = (stable, time)
            elif time - began > longest:
                longest, where = time - began, partition
    return longest, where


def check_stalls(samples, limit, report):
    """I10."""
    longest, where = longest_stall(samples)
    if longest > limit:
        report.add("last stable offset stalls (I10)", f"{where}: {longest:.1f} s, the limit is {limit:.1f} s")
    return longest
