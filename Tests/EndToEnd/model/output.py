"""Compares what a pipeline wrote with what it had to write."""

import json

from model.messages import headers_of, value_of
from model.partitions import murmur2_partition


def check_dispatch(run, expectation, table, report):
    """Compares the records of the dispatch topic with the pushes that are expected; returns how many there are."""
    expected, places = expectation.pushes, expectation.places
    seen, last, count = {}, {}, 0
    for record in run.dispatch:
        count += 1
        place = record.source
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
        partition = murmur2_partition(record.key, run.dispatch_partitions)
        if record.partition != partition:
            report.add("wrong partition", f"{place}: murmur2 of the key gives {partition}")
        _check_value(record, value_of(notification, device, run.settings), report)
        wanted = headers_of(notification, device, event, run.settings)
        if headers != wanted or len(record.headers) != len(wanted):
            report.add("wrong headers", f"{place} ({event.source}): {headers}, expected {wanted}")

    for identity, (event, notification, device, _) in expected.items():
        if identity not in seen:
            report.add(
                "lost push (I1, I4)",
                f"{event.source} ({notification.payload['event_type']}) to {device.platform} device {device.token_hash[:12]}…",
            )
    return count


def _check_value(record, wanted, report):
    try:
        value = json.loads(record.value)
    except (TypeError, ValueError) as error:
        report.add("wrong value", f"{record.source}: not JSON: {error}")
        return
    if value != wanted:
        report.add(
            "wrong value",
            f"{record.source}:\n      found    {json.dumps(value, ensure_ascii=False)}"
            f"\n      expected {json.dumps(wanted, ensure_ascii=False)}",
        )


def check_dead_letters(dead_letters, letters, report):
    """Compares the dead letters, which keep the record as it came, with those that are expected."""
    seen = {}
    for record in dead_letters:
        place = record.source
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
