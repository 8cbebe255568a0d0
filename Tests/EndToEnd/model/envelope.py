"""How an event comes out of its record: JSON with the limits of section 5.2, and the envelopes of section 4."""

import base64
import binascii
import json
import re
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

from model.names import container, is_event, options
from model.records import DeadLetter, Record
from model.values import child, first_text, is_utf8, parse_event_time

MAX_VALUE_BYTES = 1 << 20
MAX_DEPTH = 64
EVENT_TYPES = (
    "order_created",
    "order_status_changed",
    "timeslot_started",
    "unpicked_orders_reminder",
    "order_ids_listed",
)


def _integer(text):
    number = int(text)
    if not -(1 << 63) <= number < 1 << 64:
        raise DeadLetter("invalid_number")
    return number


def _float(text):
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise DeadLetter("invalid_number")
    return number


def _constant(_):
    raise DeadLetter("invalid_json")


def _depth(text):
    """How deep the brackets of a JSON text are nested."""
    depth = deepest = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def parse_json(data, make_object=None):
    """A JSON value of UTF-8; a dead letter where it is none, or beyond the limits.

    `make_object` makes the objects of their pairs of name and value.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise DeadLetter("invalid_utf8") from None
    # Walking through the text is only worth it where there are enough brackets.
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise DeadLetter("too_deep")
    try:
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_constant, object_pairs_hook=make_object)
    except ValueError:
        if re.search(r"[\[:,\s]-?0\d", text):
            raise DeadLetter("invalid_number", "invalid_json") from None
        raise DeadLetter("invalid_json") from None


def event_type_of(name, types=MappingProxyType({})):
    """The event type that a name stands for, in whichever spelling (sections 5 and 5.7); None where it is not known.

    `types` are those that the settings declare."""
    if not isinstance(name, str):
        return None
    names = [(known, known) for known in EVENT_TYPES]
    names += [(comparable(own), declared) for declared, each in types.items() for own in each.get("names", [declared])]
    found = [(len(own), declared) for own, declared in names if is_name_of(name, own)]
    return max(found, default=(0, None))[1]


def comparable(name):
    """A name as it is compared with others."""
    return re.sub(r"_v[0-9]+$", "", name.strip().replace(".", "_").lower()).removeprefix("event_")


def is_name_of(name, known):
    """Whether a name stands for a comparable one. Only a dotted name may have something before it."""
    joined = comparable(name)
    return joined == known or "." in name and joined.endswith("_" + known)


class Event(NamedTuple):
    """An event, out of its envelope."""

    record: Record
    body: dict
    # What stands where the order is expected; of any type.
    order: Any
    # None where nothing names it.
    event_type: Optional[str]
    # Of the message id (section 6).
    tag: str
    source: tuple
    time: int

    @property
    def identity(self):
        """What makes the event a duplicate of an earlier one; None where only its coordinates name it."""
        return None if self.tag == "kafka" else (self.tag, *self.source, self.event_type)


def open_envelope(record, settings):
    """The event of a record, whatever envelope it came in."""
    attributes, headers, body = _unwrapped(record)
    order = container(body, "order", dict, settings) if is_event(body, settings) else body
    name = first_text(*options(body, "event_type", settings)) or attributes.get("type") or headers.get("eventtype")
    event_type = event_type_of(name, settings.types)
    if event_type is None and name:
        raise DeadLetter("unknown_type")
    tag, source = _identity(record, attributes, headers, body, settings)
    time = parse_event_time(attributes.get("time"))
    times = [time, *map(parse_event_time, options(body, "occurred_at", settings))]
    time = next((each for each in times if each is not None), max(record.timestamp, 0))
    return Event(record, body, order, event_type, tag, source, time)


def _unwrapped(record):
    """The attributes of the CloudEvent, the headers that are text, by lower-case names, and the body of the event."""
    if record.value is None:
        raise DeadLetter("null_value")
    if len(record.value) > MAX_VALUE_BYTES:
        raise DeadLetter("value_too_large")
    # Confluent's frame: a zero byte and the id of a schema.
    data = record.value[5:] if record.value[:1] == b"\0" and len(record.value) > 5 else record.value
    body = parse_json(data)
    headers = {
        name.lower(): value.decode() for name, value in record.headers if value is not None and name.isascii() and is_utf8(value)
    }
    attributes = {name[3:]: value for name, value in headers.items() if name.startswith("ce_")}
    if headers.get("content-type", "").lower().startswith("application/cloudevents"):
        attributes, body = body, _cloud_event_data(body)
    if isinstance(body, str):
        body = parse_json(body.encode())
    if isinstance(body, dict) and "payload" in body and "schema" in body:
        body = body["payload"]
        if isinstance(body, str):
            body = parse_json(body.encode())
    if not isinstance(body, dict):
        raise DeadLetter("not_an_event")
    return attributes, headers, body


def _identity(record, attributes, headers, body, settings):
    """The tag and the source of the message id."""
    if attributes.get("source") is not None and attributes.get("id") is not None:
        return "ce", (attributes["source"], attributes["id"])
    if "id" in headers:
        return "outbox", (headers["id"],)
    if (event_id := first_text(*options(body, "event_id", settings))) is not None:
        return "event", (event_id,)
    return "kafka", (record.topic, str(record.partition), str(record.offset))


def _cloud_event_data(envelope):
    """The event of a structured CloudEvent; data that its producer has as bytes stands in `data_base64`."""
    encoded = child(envelope, "data_base64")
    if child(envelope, "data") is not None or not isinstance(encoded, str):
        return child(envelope, "data")
    try:
        return parse_json(base64.b64decode(encoded, validate=True))
    except binascii.Error:
        raise DeadLetter("not_an_event") from None
