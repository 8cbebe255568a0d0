"""Checks what a pipeline wrote against what it had to write. Pure: records in, differences out.

The invariants' numbers are those of the proof: I1 nothing lost, I2 nothing twice, I3 order kept per order, I4 every
subscribed device once, I7 the journal covers every input offset exactly once.
"""

import collections
import json
from dataclasses import dataclass, field

import rules

SHOWN_PER_KIND = 3


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


def verify(events, subscriptions, dispatch, dead_letters, journal, settings, starts, ends, dispatch_partitions):
    """Differences between what was written and what follows from `events` and `subscriptions`.

    `starts` and `ends` are the first and the next offset of each partition of the events' topic, as far as the group
    has to have come. Records are in the order of their offsets within each partition.
    """
    report = Report()
    table = rules.fold_subscriptions(subscriptions)
    expected, letters = _expect(events, table, settings, report)
    _check_dispatch(dispatch, expected, settings, dispatch_partitions, report)
    _check_dead_letters(dead_letters, letters, report)
    _check_journal(journal, starts, ends, sorted({record.partition for record in subscriptions}), report)
    report.counts |= {"dispatched": len(dispatch), "dead letters": len(dead_letters), "journal records": len(journal)}
    return report


def _expect(events, table, settings, report):
    expected, letters = {}, {}
    count = collections.Counter()
    for record in events:
        outcome = rules.outcome_of(record, settings)
        if outcome.dead_letter is None:
            reached = [(each, list(rules.recipients(each, table, settings))) for each in outcome.notifications]
            if any(devices and rules.is_too_large(each) for each, devices in reached):
                outcome = rules.Outcome(dead_letter=frozenset(["payload_too_large"]))
        if outcome.dead_letter is not None:
            letters[record.source] = (record, outcome.dead_letter)
            continue
        for index, (each, devices) in enumerate(reached):
            count["notifications"] += 1
            for device in devices:
                position = (record.partition, record.offset, index)
                expected[record.source, each.message_id, device.token_hash] = (record, each, device, position)
    report.counts = {"events": len(events), "notifications": count["notifications"], "expected pushes": len(expected)}
    return expected, letters


def _check_dispatch(dispatch, expected, settings, partitions, report):
    seen, last = {}, {}
    for record in dispatch:
        place = f"{record.topic}/{record.partition}/{record.offset}"
        headers = {name: value.decode(errors="replace") if value is not None else None for name, value in record.headers}
        key = (record.key or b"").decode(errors="replace")
        identity = (headers.get("source"), headers.get("message-id"), key)
        if identity not in expected:
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
            report.add("lost push (I1, I4)", f"{event.source} ({notification.payload['event_type']}) to {device.platform} "
                                             f"device {device.token_hash[:12]}…")


def _check_value(record, place, notification, device, settings, report):
    try:
        value = json.loads(record.value)
    except (TypeError, ValueError) as error:
        report.add("wrong value", f"{place}: not JSON: {error}")
        return
    wanted = rules.value_of(notification, device, settings)
    if value != wanted:
        report.add("wrong value", f"{place}:\n      found    {json.dumps(value, ensure_ascii=False)}"
                                  f"\n      expected {json.dumps(wanted, ensure_ascii=False)}")


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
            ("key", record.key, original.key), ("value", record.value, original.value), ("headers", kept, original.headers),
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


def _check_journal(journal, starts, ends, table_partitions, report):
    ranges = collections.defaultdict(list)
    for record in journal:
        place = f"{record.topic}/{record.partition}/{record.offset}"
        try:
            value = json.loads(record.value)
            for each in value["ranges"]:
                ranges[each["topic"], each["partition"]].append((each["from"], each["to"], place))
            missing = {"watermarks", "clock", "table", "rules"} - value.keys()
        except (TypeError, ValueError, KeyError) as error:
            report.add("journal record not readable", f"{place}: {error!r}")
            continue
        if missing or not value["rules"] or not record.key:
            report.add("journal record incomplete", f"{place}: without {', '.join(sorted(missing)) or 'rules or key'}")
        elif value["table"] is None or len(value["table"]) <= max(table_partitions, default=-1):
            report.add("journal record incomplete", f"{place}: table position {value['table']}")
    for topic, partition in sorted(starts.keys() | ranges.keys()):
        at, end = starts.get((topic, partition), 0), ends.get((topic, partition), 0)
        for first, last, place in sorted(ranges[topic, partition]):
            if first > at:
                report.add("journal misses offsets (I7)", f"{topic}/{partition}: {at} to {first}, before {place}")
            elif first < at:
                report.add("journal repeats offsets (I7)", f"{topic}/{partition}: {first} to {min(at, last)}, in {place}")
            at = max(at, last)
        if at != end:
            report.add("journal misses offsets (I7)", f"{topic}/{partition}: it ends at {at}, the events at {end}")
