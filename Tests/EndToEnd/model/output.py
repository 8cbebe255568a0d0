"""Compares what a pipeline wrote with what it had to write."""

import json

from model.messages import headers_of, value_of
from model.partitions import murmur2_partition


def check_dispatch(run, expectation, requested, table, report):
    """Compares the records of the dispatch topic with the pushes that are expected; returns how many there are."""
    expected, of_requests = expectation.pushes, requested.pushes
    seen, last, count = {}, {}, 0
    for record in run.dispatch:
        count += 1
        place = record.source
        headers = {name: value.decode(errors="replace") if value is not None else None for name, value in record.headers}
        key = (record.key or b"").decode(errors="replace")
        identity = (headers.get("source"), headers.get("message-id"), key)
        if identity not in expected and identity not in of_requests:
            kind, what = _unexpected(identity, expectation, requested, table)
            report.add(kind, f"{place}: {what}")
            continue
        if identity in seen:
            report.add("pushed twice (I2)", f"{place} repeats {seen[identity]}: {identity}")
            continue
        seen[identity] = place
        if identity in expected:
            source, notification, device, position = expected[identity]
            order = (source.partition, notification.order_id, key)
            _check_value(record, value_of(notification, device, run.settings), report)
            wanted = headers_of(notification, device, source, run.settings)
        else:
            source, push = of_requests[identity]
            order, position = (source.topic, source.partition, key), source.offset
            if record.value != push.value.encode():
                report.add("wrong value", f"{place}:\n      found    {record.value!r}\n      expected {push.value}")
            wanted = push.headers
        if order in last and last[order][0] > position:
            report.add("order not kept (I3)", f"{place} ({source.source}) comes after {last[order][1]}, of a later record")
        last[order] = (position, place)
        partition = murmur2_partition(record.key, run.dispatch_partitions)
        if record.partition != partition:
            report.add("wrong partition", f"{place}: murmur2 of the key gives {partition}")
        if headers != wanted or len(record.headers) != len(wanted):
            report.add("wrong headers", f"{place} ({source.source}): {headers}, expected {wanted}")

    lost = [
        (event.source, notification.payload["event_type"], device)
        for identity, (event, notification, device, _) in expected.items()
        if identity not in seen
    ]
    lost += [(request.source, "request", push.device) for identity, (request, push) in of_requests.items() if identity not in seen]
    for source, what, device in lost:
        report.add("lost push (I1, I4)", f"{source} ({what}) to {device.platform} device {device.token_hash[:12]}…")
    return count


def _unexpected(identity, expectation, requested, table):
    """What is wrong with a push that should not be there."""
    source, _, key = identity
    suppressed = requested.suppressed.get(source, "")
    if suppressed == "expired":
        return "pushed after it had expired", f"{identity}"
    if suppressed.startswith("duplicate"):
        return "a repeated request was pushed", f"{identity}"
    audiences = expectation.audiences.get(identity[:2]) or requested.audiences.get(source, ())
    if any(table.knows(audience, key) for audience in audiences):
        return "pushed while not subscribed (I5)", f"{identity}"
    return "unexpected push (I2)", f"source, message id and device {identity} follow from nothing"


def _check_value(record, wanted, report):
    try:
        found = record.value.decode()
        if json.loads(found) != wanted:
            report.add("wrong value", f"{record.source}:\n      found    {found}\n      expected {compact(wanted)}")
        elif found != compact(wanted):
            report.add("wrong bytes", f"{record.source}:\n      found    {found}\n      expected {compact(wanted)}")
    except (AttributeError, ValueError) as error:
        report.add("wrong value", f"{record.source}: not JSON: {error}")


def compact(value):
    """The JSON text of a dispatch record's value, as it is written."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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
        original, codes, sentences = letters[source]
        if named.get("x-error-code") not in codes:
            report.add("wrong error code", f"{place}: {named.get('x-error-code')}, expected {' or '.join(sorted(codes))}")
        sentence = named.get("__connect.errors.exception.message")
        if not sentence:
            report.add("no reason", f"{place}: no __connect.errors.exception.message")
        elif sentences and sentence not in sentences:
            report.add("wrong sentence", f"{place} ({source}): {sentence!r}, expected {' or '.join(sorted(sentences))}")
        kept = tuple(header for header in record.headers if not _is_ours(header[0]))
        for name, found, wanted in (
            ("key", record.key, original.key),
            ("value", record.value, original.value),
            ("headers", kept, original.headers),
        ):
            if found != wanted:
                report.add(f"dead letter's {name} changed", f"{place} ({source}): {_short(found)}, was {_short(wanted)}")
    for source, letter in letters.items():
        if source not in seen:
            report.add("lost dead letter", f"{source}, expected {' or '.join(sorted(letter.codes))}")


def _is_ours(name):
    return name.startswith("__connect.errors.") or name == "x-error-code"


def _short(value):
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:80]}… ({len(value)} long)"
