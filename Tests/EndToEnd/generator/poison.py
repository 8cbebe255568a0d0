"""Records that cannot be processed, of every kind. `source` is the `Events` that draws the numbers and has the time."""

from generator.inputs import Input, compact, iso

_ODD_HEADERS = (("x-binary", b"\xff\x00\xfe"), ("x-null", None), ("x-empty", b""), ("x-twice", b"1"), ("x-twice", b"2"))


def _event(source, **changes):
    event = {
        "event_id": source.uuid(),
        "event_type": "ORDER_CREATED",
        "occurred_at": iso(source.now),
        "order": {"id": source.uuid(), "place_id": source.place()},
    }
    return event | changes


def _key(source):
    return source.chance.choice((source.uuid().encode(), None, b"\xff\x00key", b""))


POISONS = {
    "bad UTF-8": lambda e: Input(_key(e), compact(_event(e)).replace(b"ORDER_CREATED", b"ORDER_\xc3\x28CREATED"), _ODD_HEADERS),
    "too deep": lambda e: Input(_key(e), b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
    "too large": lambda e: Input(_key(e), compact(_event(e, note="x" * 1_150_000)), _ODD_HEADERS),
    "40-digit number": lambda e: Input(_key(e), compact(_event(e, total=int("9" * 40)))),
    "1e400": lambda e: Input(_key(e), compact(_event(e)).replace(b'"place_id"', b'"total":1e400,"place_id"')),
    "null value": lambda e: Input(e.uuid().encode(), None, _ODD_HEADERS),
    "no JSON": lambda e: Input(_key(e), b'{"event_type": "ORDER_CREATED", '),
    "an array": lambda e: Input(_key(e), b"[1,2,3]", (("eventType", b"ORDER_CREATED"),)),
    "empty value": lambda e: Input(_key(e), b""),
    "unknown type": lambda e: Input(_key(e), compact(_event(e, event_type="ORDER_TELEPORTED"))),
    "no place": lambda e: Input(_key(e), compact(_event(e, order={"id": e.uuid()}))),
    "no status": lambda e: Input(_key(e), compact(_event(e, event_type="ORDER_STATUS_CHANGED"))),
    "too large a payload": lambda e: Input(_key(e), compact(_event(e, order={"id": "x" * 4_000, "place_id": e.places[0]}))),
}
