"""What the journal says: the ranges of offsets that each transaction covered, its watermarks, and where the table stood."""

import bisect
import collections
import json
from typing import NamedTuple, Optional

from model.orders import Watermark, stored_hash

# By how much a clock that is read before a broker is asked may differ from the clock of that broker.
CLOCK_SLACK_MS = 100


class Span(NamedTuple):
    """What one transaction covered of one partition."""

    first: int
    last: int
    # Where the table stood: the next offset of each partition of the subscriptions.
    table: Optional[list]
    # When the transaction began, by the clock of its process.
    clock: int
    # Where the journal says so.
    place: str
    # The watermarks of the timers, and the time of the tick that moved them.
    before: Watermark = Watermark(0)
    after: Watermark = Watermark(0)
    until: int = 0
    # Of the first record.
    fingerprint: Optional[dict] = None


def watermarks_of(entry):
    """The watermarks before and after a transaction, and the time of its tick, as an entry of the journal has them."""
    before, after = (Watermark(entry[name], entry.get(f"{name}_p", "")) for name in ("before", "after"))
    return before, after, entry.get("until", after.w)


def read_journal(run, table_partitions, report):
    """The spans of each partition of the events and of the requests, in their order, which have to cover it without a gap (I7)."""
    ledger = collections.defaultdict(list)
    for record in run.journal:
        for topic, partition, span in _spans(record, table_partitions, report):
            ledger[topic, partition].append(span)
    for topic, partition in sorted(run.starts.keys() | ledger.keys()):
        spans = ledger[topic, partition]
        spans.sort(key=lambda span: (span.first, span.last, span.before, span.after))
        at, end = run.starts.get((topic, partition), 0), run.ends.get((topic, partition), 0)
        for span in spans:
            if span.first > at:
                report.add("journal misses offsets (I7)", f"{topic}/{partition}: {at} to {span.first}, before {span.place}")
            elif span.first < at:
                report.add(
                    "journal repeats offsets (I7)", f"{topic}/{partition}: {span.first} to {min(at, span.last)}, in {span.place}"
                )
            at = max(at, span.last)
        if at != end:
            report.add("journal misses offsets (I7)", f"{topic}/{partition}: it ends at {at}, the topic at {end}")
    return ledger


def _spans(record, table_partitions, report):
    """(topic, partition, span) of each range of an entry; of an entry that cannot be read, those before the fault."""
    place = record.source
    try:
        value = json.loads(record.value)
        missing = {"v", "group", "cluster", "dispatch", "watermarks", "clock", "table", "rules"} - value.keys()
        table = value.get("table")
        if table is not None and len(table) < table_partitions:
            table = None
        watermarks = {(each["topic"], each["partition"]): watermarks_of(each) for each in value.get("watermarks", ())}
        for each in value["ranges"]:
            marks = watermarks.get((each["topic"], each["partition"]), ())
            if ("first" in each) != (each["to"] > each["from"]):
                missing |= {"first"}
            span = Span(each["from"], each["to"], table, value.get("clock", 0), place, *marks, fingerprint=each.get("first"))
            yield each["topic"], each["partition"], span
    except (TypeError, ValueError, KeyError) as error:
        report.add("journal record not readable", f"{place}: {error!r}")
        return
    if missing or not value["rules"] or not record.key:
        report.add("journal record incomplete", f"{place}: without {', '.join(sorted(missing)) or 'rules or key'}")
    elif table is None:
        report.add("journal record incomplete", f"{place}: table position {value['table']}")


def check_positions(ledger, run, table_ends, report):
    """Whether the positions of the table that the journal names are new enough. I4 and I5 are checked at these positions."""
    written = collections.defaultdict(lambda: ([], []))
    for record in run.subscriptions:
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
                if run.max_table_age_ms is None:
                    needed = end
                else:
                    times, offsets = written[at]
                    old = bisect.bisect_left(times, span.clock - run.max_table_age_ms)
                    needed = offsets[old - 1] + 1 if old else 0
                if span.table[at] < needed:
                    report.add("the table is too old (I5)", f"{name}: partition {at} at {span.table[at]}, must be {needed}")
            before = span.table


def check_watermarks(ledger, run, report):
    """I8, as far as it needs no state of orders."""
    # A tick has read everything that the broker had at its time. Without timers the watermark just follows the clock.
    appended = collections.defaultdict(list)
    for record in run.events if run.settings.schedule else ():
        appended[record.topic, record.partition].append(record)
    of_requests = {record.topic for record in run.requests}
    for partition, spans in ledger.items():
        name, before = f"{partition[0]}/{partition[1]}", None
        if partition[0] in of_requests:
            _check_no_watermarks(name, spans, report)
            continue
        for span in spans:
            if span.after < span.before:
                report.add("a watermark went back (I8)", f"{name}: {span.before} to {span.after}, in {span.place}")
            if before is not None and span.before != before and not (run.is_set_by_hand and span.before > before):
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


def _check_no_watermarks(name, spans, report):
    """Requests have no timers."""
    for span in spans:
        if span.before != Watermark(0) or span.after != Watermark(0):
            report.add("a watermark of requests (I8)", f"{name}: {span.before} to {span.after}, in {span.place}")


def check_fingerprints(ledger, events, report):
    """Whether each range that is not empty names its first record, so that it cannot be taken for a range of another log."""
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
