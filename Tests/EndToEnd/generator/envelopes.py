"""Seeded envelopes: the shapes in which producers send an event.

`source` is the `Events` that draws the numbers and has the time.
"""

from generator.inputs import Input, compact, iso
from generator.orders import new_order


def wrapped(source, event_type, order, extra):
    """An event about an order in any of the envelopes; `extra` are members beside the order."""
    key = _key(order)
    envelope = source.chance.random()
    if envelope < 0.7:
        return _native(source, key, event_type, {"order": order} | extra)
    dotted = "com.example." + event_type.lower().replace("_", ".") + ".v1"
    if envelope < 0.8:
        return _binary_cloud_event(source, key, dotted, {"order": order} | extra)
    if envelope < 0.9:
        return _structured_cloud_event(source, key, dotted, {"order": order} | extra)
    return _outbox(source, key, event_type, {"order": order, "occurred_at": iso(source.now)} | extra)


def _key(order):
    return str(order["id"] or order.get("order_number") or "").encode() or None


def _native(source, key, event_type, data):
    chance = source.chance
    event = {"event_id": source.uuid(), "event_type": event_type, "occurred_at": iso(source.now)} | data
    spelling = chance.random()
    if spelling < 0.1:
        event["event_type"] = "event_" + event_type.lower()
    elif spelling < 0.2:
        event["event_type"] = event_type.lower().replace("_", ".") + ".v1"
    if chance.random() < 0.05:
        del event["event_id"]
    if chance.random() < 0.05:
        del event["occurred_at"]
    elif chance.random() < 0.05:
        event["occurred_at"] = source.now
    headers = ()
    if chance.random() < 0.02:
        trace = f"00-{chance.getrandbits(128):032x}-{chance.getrandbits(64):016x}-01"
        trace = chance.choice((trace, trace, trace.upper(), f"01{trace[2:]}", trace + "0" * 4096))
        headers = (("traceparent", trace.encode()),)
    value = compact(event)
    if chance.random() < 0.02:
        # Confluent's frame.
        value = b"\0" + (17).to_bytes(4, "big") + value
    return Input(key, value, headers)


def _binary_cloud_event(source, key, event_type, data):
    headers = {
        "ce_specversion": "1.0",
        "ce_id": source.uuid(),
        "ce_source": "/orders/uos",
        "ce_type": event_type,
        "ce_time": iso(source.now),
        "content-type": "application/json",
    }
    return Input(key, compact(data), tuple((name, value.encode()) for name, value in headers.items()))


def _structured_cloud_event(source, key, event_type, data):
    event = {
        "specversion": "1.0",
        "id": source.uuid(),
        "source": "/orders/uos",
        "type": event_type,
        "time": iso(source.now),
        "datacontenttype": "application/json",
        "data": data,
    }
    return Input(key, compact(event), (("content-type", b"application/cloudevents+json; charset=UTF-8"),))


def _outbox(source, key, event_type, body):
    """As Debezium's outbox sends it: plain, as a text, or with its schema."""
    form = source.chance.randrange(3)
    value = compact(body)
    if form == 1:
        value = compact(value.decode())
    elif form == 2:
        value = compact({"schema": {"type": "string", "optional": False}, "payload": body})
    return Input(key, value, (("id", source.uuid().encode()), ("eventType", event_type.encode())))


def snapshot(source, order):
    """An order as it stands, without an event type."""
    key, form = _key(order), source.chance.randrange(3)
    if form == 0:
        return Input(key, compact(order))
    event = {"event_id": source.uuid(), "occurred_at": iso(source.now), "order": order}
    return Input(key, compact(event if form == 1 else event | {"event_type": None}))


def listed(source):
    """ORDER_IDS_LISTED, in any of its forms."""
    place = source.place()
    event = {"event_id": source.uuid(), "event_type": "ORDER_IDS_LISTED", "occurred_at": iso(source.now), "place_id": place}
    form = source.chance.randrange(4)
    if form == 0:
        event["order_ids"] = [source.uuid() for _ in range(source.chance.randrange(1, 6))] + [4711]
        event["order_ids"].append(event["order_ids"][0])
    elif form == 1:
        event["orders"] = [new_order(source) for _ in range(source.chance.randrange(1, 4))]
    elif form == 2:
        event["order"] = new_order(source)
    else:
        event["order_ids"] = []
    return Input(place.encode(), compact(event))
