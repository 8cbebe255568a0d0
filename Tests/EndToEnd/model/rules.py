"""An independent reading of the rules: what one record of orders.events must become.

Written from the documents, not from Carillon's source, and in another language, so that the two can be compared.
The section numbers are those of the push rules: 5.2 parsing of values, 5.3 what document 1 means, 6 message id,
7 provider messages.
"""

import base64
import binascii
import bisect
import datetime
import functools
import hashlib
import json
import re
import zoneinfo
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

UNIT_SEPARATOR = "\x1f"
MAX_VALUE_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_PAYLOAD_BYTES = 4096
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
EVENT_TYPES = (
    "order_created",
    "order_status_changed",
    "timeslot_started",
    "unpicked_orders_reminder",
    "order_ids_listed",
)


class Record(NamedTuple):
    """A Kafka record, as any client hands it over. Headers are pairs of name and bytes (or None), in order."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Optional[bytes]
    value: Optional[bytes]
    headers: tuple = ()

    @property
    def source(self):
        return f"{self.topic}/{self.partition}/{self.offset}"


class Device(NamedTuple):
    token: str
    token_hash: str
    platform: str
    app: str
    environment: str
    last_seen: Optional[int]


@dataclass
class Notification:
    message_id: str
    order_id: str
    place_id: str
    event_time: int
    payload: dict
    order_type: Optional[str]
    degraded: bool

    @functools.cached_property
    def default_string(self):
        """What document 1 sends: the payload as JSON text, in its order, compact."""
        return json.dumps({"data": self.payload}, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Outcome:
    """One of: notifications (maybe none, then with the reason), or the codes that a dead letter may carry."""

    notifications: list = field(default_factory=list)
    suppressed: Optional[str] = None
    dead_letter: Optional[frozenset] = None


class Facts(NamedTuple):
    """What an event itself says about its order; no fallback is a fact."""

    event_type: str
    time: int
    order_id: Optional[str]
    place: str
    identity: Optional[tuple]
    is_redriven: bool
    status: Optional[str]
    # Of these, absent ones leave what was there.
    members: dict


class Verdict(NamedTuple):
    reason: Optional[str]
    previous_status: Optional[str]


@dataclass
class Settings:
    time_zone: str = "UTC"
    place_time_zones: dict = field(default_factory=dict)
    ttl_seconds: int = 3600
    android_priority: str = "high"
    max_age_ms: int = 270 * 86_400_000
    schedule: bool = True
    horizon_seconds: int = 14 * 86_400
    retention_seconds: int = 86_400
    max_lateness_ms: int = 15 * 60_000
    spread_seconds: int = 0
    infer_status_changes: bool = False
    # The types of which a push is not sent where its transaction has a newer one of the order.
    superseding: frozenset = frozenset()

    def zone_of(self, place):
        return zoneinfo.ZoneInfo(self.place_time_zones.get(place, self.time_zone))


class _Dead(Exception):
    def __init__(self, *codes):
        self.codes = frozenset(codes)


# -- JSON -----------------------------------------------------------------------------------------


def _integer(text):
    number = int(text)
    if not -(1 << 63) <= number < 1 << 64:
        raise _Dead("invalid_number")
    return number


def _float(text):
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Dead("invalid_number")
    return number


def _constant(_):
    raise _Dead("invalid_json")


def _depth(text):
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


def parse_json(data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _Dead("invalid_utf8") from None
    # Deep nesting cannot hide in few brackets; counting them all is only worth it then.
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise _Dead("too_deep")
    try:
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_constant)
    except ValueError:
        if re.search(r"[\[:,\s]-?0\d", text):
            raise _Dead("invalid_number", "invalid_json") from None
        raise _Dead("invalid_json") from None


# -- Values (5.2) ---------------------------------------------------------------------------------

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?", re.ASCII)
_MERIDIEM = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\.?", re.ASCII | re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DATETIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII | re.IGNORECASE
)
_RANGE = re.compile(r"(.+?)(?:\s*[-–—/]\s*|\s+to\s+)(.+)", re.IGNORECASE)
_BARE_HOUR = re.compile(r"(\d{1,2})(?::(\d{2}))?", re.ASCII)


def text(value):
    """A text field: trimmed; None for null, blank, booleans, objects and arrays; numbers as JavaScript prints them."""
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value).strip() or None


def _epoch(value):
    """Milliseconds of an epoch number or digit string, else None."""
    if isinstance(value, str) and re.fullmatch(r"\d{10}|\d{13}", value, re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value >= 1e11:
        return int(value)
    return int(value * 1000) if value >= 1e9 else None


def _local(milliseconds, zone):
    """The wall clock of an instant in a zone."""
    return datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc).astimezone(zone)


def _clock(moment):
    return f"{moment.hour:02}:{moment.minute:02}"


def _day(match_text):
    match = _DATE.fullmatch(match_text)
    try:
        return datetime.date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _moment(value):
    """(date, hour, minute, second, fraction in ms, offset in seconds or None) of a date and time, else None."""
    match = _DATETIME.fullmatch(value)
    if not match or not (day := _day(match[1])):
        return None
    hour, minute, second = int(match[2]), int(match[3]), int(match[4] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match[5] or "0").ljust(3, "0")[:3])
    offset = None
    if match[6]:
        offset = 0
        if match[6] not in "Zz":
            sign = -1 if match[6][0] == "-" else 1
            digits = match[6][1:].replace(":", "")
            offset = sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
    return day, hour, minute, second, fraction, offset


def _instant(moment):
    day, hour, minute, second, fraction, offset = moment
    utc = datetime.datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=datetime.timezone.utc)
    return int(utc.timestamp() - (offset or 0)) * 1000 + fraction


def parse_time(value, zone, is_end=False):
    """HH:MM in the zone, else None."""
    if (milliseconds := _epoch(value.strip() if isinstance(value, str) else value)) is not None:
        return _clock(_local(milliseconds, zone))
    if not isinstance(value, str):
        return None
    value = value.strip()
    if match := _CLOCK.fullmatch(value):
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        if is_end and (hour, minute, second) == (24, 0, 0):
            return "23:59"
        return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 and second < 60 else None
    if match := _MERIDIEM.fullmatch(value):
        hour, minute = int(match[1]), int(match[2] or 0)
        if not 1 <= hour <= 12 or minute > 59:
            return None
        return f"{hour % 12 + (12 if match[3] in 'pP' else 0):02}:{minute:02}"
    if moment := _moment(value):
        if moment[5] is None:
            return f"{moment[1]:02}:{moment[2]:02}"
        return _clock(_local(_instant(moment), zone))
    return None


def parse_date(value, zone):
    """YYYY-MM-DD in the zone, else None."""
    if (milliseconds := _epoch(value.strip() if isinstance(value, str) else value)) is not None:
        return _local(milliseconds, zone).date().isoformat()
    if not isinstance(value, str):
        return None
    value = value.strip()
    if day := _day(value):
        return day.isoformat()
    if moment := _moment(value):
        return moment[0].isoformat() if moment[5] is None else _local(_instant(moment), zone).date().isoformat()
    return None


def parse_time_slot(value, zone):
    """(start, end) of the drone interface's `time_slot`; each may be None."""
    if isinstance(value, dict):
        for names in (("start", "end"), ("start_time", "end_time"), ("from", "to")):
            if names[0] in value or names[1] in value:
                return parse_time(value.get(names[0]), zone), parse_time(value.get(names[1]), zone, True)
        return None, None
    if isinstance(value, list):
        return (parse_time(value[0], zone), parse_time(value[1], zone, True)) if len(value) == 2 else (None, None)
    if not isinstance(value, str):
        return parse_time(value, zone), None
    if (single := parse_time(value, zone)) is not None:
        return single, None
    if not (match := _RANGE.fullmatch(value.strip())):
        return None, None
    start, end = match[1].strip(), match[2].strip()
    shared = _MERIDIEM.fullmatch(end)
    if shared and (bare := _BARE_HOUR.fullmatch(start)) and 1 <= int(bare[1]) <= 12:
        letter = shared[3].upper()
        last = parse_time(end, zone, True)
        first = parse_time(f"{start} {letter}M", zone)
        if first is not None and last is not None and first > last:
            first = parse_time(f"{start} {'A' if letter == 'P' else 'P'}M", zone)
        return first, last
    return parse_time(start, zone), parse_time(end, zone, True)


def parse_event_time(value):
    """Milliseconds since the epoch; without an offset it counts as UTC."""
    if (milliseconds := _epoch(value)) is not None:
        return milliseconds
    moment = _moment(value.strip()) if isinstance(value, str) else None
    return _instant(moment) if moment else None


# -- The event ------------------------------------------------------------------------------------


def event_type_of(name):
    if not isinstance(name, str):
        return None
    joined = re.sub(r"_v\d+$", "", name.strip().replace(".", "_").lower())
    for known in EVENT_TYPES:
        if joined == known or joined.endswith("_" + known):
            return known
    return None


def message_id(tag, source, event_type, order_id, milliseconds):
    """Section 6."""
    data = UNIT_SEPARATOR.join(["v1", tag, *source, event_type, order_id]).encode()
    number = int.from_bytes(hashlib.sha256(data).digest()[:8], "big") % 36**9
    digits = ""
    for _ in range(9):
        number, digit = divmod(number, 36)
        digits = BASE36[digit] + digits
    return f"msg-{milliseconds}-{digits}"


def _child(value, *path):
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _first(*values):
    return next((found for value in values if (found := text(value)) is not None), None)


def _named_slot(order, zone):
    """(start, end) of the first source that names one of them; (None, None) where none does."""
    for start, end in (
        (
            parse_time(_child(order, "shipping_info", "slot", "start_time"), zone),
            parse_time(_child(order, "shipping_info", "slot", "end_time"), zone, True),
        ),
        (
            parse_time(_child(order, "metadata", "delivery_slot_start"), zone),
            parse_time(_child(order, "metadata", "delivery_slot_end"), zone, True),
        ),
        parse_time_slot(_child(order, "shipping_info", "pickup_details", "time_slot"), zone),
    ):
        if start is not None or end is not None:
            return start, end
    return None, None


def _named_date(order, zone):
    """The date of the delivery, and else that of the order; (None, None) where nobody names one."""
    for path in (
        ("shipping_info", "slot", "date"),
        ("metadata", "delivery_slot_start"),
        ("shipping_info", "slot", "delivery_date"),
    ):
        if (found := parse_date(_child(order, *path), zone)) is not None:
            return found, None
    return None, parse_date(_child(order, "order_date"), zone)


def _today(event_time, zone):
    return _local(event_time, zone).date().isoformat()


def _open(record):
    """(event, order or None, type, tag, source, event time) of a record, whatever envelope it came in. The type is None
    where nothing says it."""
    if record.value is None:
        raise _Dead("null_value")
    if len(record.value) > MAX_VALUE_BYTES:
        raise _Dead("value_too_large")
    data = record.value[5:] if record.value[:1] == b"\0" and len(record.value) > 5 else record.value
    body = parse_json(data)
    headers = {
        name.lower(): value.decode() for name, value in record.headers if value is not None and name.isascii() and _is_text(value)
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
        raise _Dead("not_an_event")

    is_event = any(name in body for name in ("order", "orders", "order_ids"))
    order = body.get("order") if is_event else body
    name = body.get("event_type") or attributes.get("type") or headers.get("eventtype")
    event_type = event_type_of(name)
    if event_type is None and name:
        raise _Dead("unknown_type")

    if attributes.get("source") is not None and attributes.get("id") is not None:
        tag, source = "ce", [attributes["source"], attributes["id"]]
    elif "id" in headers:
        tag, source = "outbox", [headers["id"]]
    elif (event_id := text(body.get("event_id"))) is not None:
        tag, source = "event", [event_id]
    else:
        tag, source = "kafka", [record.topic, str(record.partition), str(record.offset)]

    event_time = parse_event_time(attributes.get("time"))
    if event_time is None:
        event_time = parse_event_time(body.get("occurred_at"))
    if event_time is None:
        event_time = max(record.timestamp, 0)
    return body, order, event_type, tag, source, event_time


def _cloud_event_data(envelope):
    """What is not JSON for the event's producer, such as bytes, stands as base64 in `data_base64`."""
    encoded = _child(envelope, "data_base64")
    if _child(envelope, "data") is not None or not isinstance(encoded, str):
        return _child(envelope, "data")
    try:
        return parse_json(base64.b64decode(encoded, validate=True))
    except binascii.Error:
        raise _Dead("not_an_event") from None


def _is_text(value):
    try:
        value.decode()
        return True
    except UnicodeDecodeError:
        return False


def outcome_of(record, settings, state=None):
    """What one record must become, before it is known who gets it.

    `state` is what is remembered of the orders of the record's partition (`orders.Orders`), which takes the event in;
    without it the event stands for itself.
    """
    if state is not None:
        state.begin(record.timestamp)
    try:
        return _outcome_of(record, settings, state)
    except _Dead as dead:
        return Outcome(dead_letter=dead.codes)


def _outcome_of(record, settings, state):
    event, order, event_type, tag, source, event_time = _open(record)
    orders = [order]
    is_snapshot = event_type is None
    if is_snapshot:
        # An order as it stands may tell of a change; without an id nobody knows of which.
        is_order = isinstance(order, dict) and _first(order.get("id"), order.get("order_number")) is not None
        if not settings.infer_status_changes or not is_order:
            raise _Dead("unknown_type", "not_an_event")
        event_type = "order_status_changed"
    if event_type == "order_ids_listed":
        orders = _listed(event)
        place = _first(event.get("place_id"), *(candidate for each in orders for candidate in _places(each)))
    else:
        if not isinstance(order, dict):
            raise _Dead("not_an_event")
        place = _first(event.get("place_id"), *_places(order))
    if place is None:
        raise _Dead("no_place")
    if not orders:
        return Outcome(suppressed="no_order_ids")

    zone = settings.zone_of(place)
    if event_type != "order_ids_listed":
        return _single(record, event, order, event_type, tag, source, event_time, place, zone, state, is_snapshot)
    notifications, seen = [], set()
    for each in orders:
        notification = _notify(event, each, event_type, tag, source, event_time, place, zone, None)
        if notification.order_id not in seen:
            seen.add(notification.order_id)
            notifications.append(notification)
    return Outcome(notifications=notifications)


def _single(record, event, order, event_type, tag, source, event_time, place, zone, state, is_snapshot):
    """An event about one order: what its past says about it, and what it adds to that."""
    status = _first(event.get("new_status") if event_type == "order_status_changed" else None, order.get("status"))
    if event_type == "order_status_changed" and status is None and not is_snapshot:
        raise _Dead("missing_status")
    reason = previous = None
    if state is not None:
        facts = _facts(record, event, order, event_type, tag, source, event_time, place, zone, status)
        reason, previous = state.consider(facts)
        if reason == "duplicate":
            return Outcome(suppressed=reason)
    # Of a snapshot it has to be known: else everything would be a change.
    previous = _first(event.get("previous_status")) or previous or (status if is_snapshot else "unknown")
    notification = None
    if event_type == "order_status_changed" and (status is None or previous == status):
        reason = "not_a_transition"
    elif reason is None:
        change = (previous, status) if event_type == "order_status_changed" else None
        notification = _notify(event, order, event_type, tag, source, event_time, place, zone, change)
        if len(notification.default_string.encode()) > MAX_PAYLOAD_BYTES:
            raise _Dead("payload_too_large")
    # A dead letter leaves nothing behind.
    if state is not None:
        state.apply(facts)
    return Outcome(notifications=[notification]) if notification else Outcome(suppressed=reason)


def _facts(record, event, order, event_type, tag, source, event_time, place, zone, status):
    order_id = _first(order.get("id"), order.get("order_number"))
    visible_id = _first(order.get("order_number"), order.get("reference_id"))
    parent_id = _first(order.get("parent_order_id"))
    if order_id is not None:
        texts = (order_id, visible_id or order_id, parent_id or order_id, place, status or "")
        if sum(len(each.encode()) for each in texts) > MAX_PAYLOAD_BYTES:
            order_id = None
    date, order_date = _named_date(order, zone)
    members = {"visible_id": visible_id, "parent_id": parent_id, "date": date, "order_date": order_date, "order_type": _kind(order)}
    start, end = _named_slot(order, zone)
    # A start that nobody named starts nothing, and the whole day is what a fallback says.
    if start is not None and (start, end or "23:59") != ("00:00", "23:59"):
        members["slot"] = (start, end or "23:59")
        members["slot_date"] = _today(event_time, zone) if date is None and order_date is None else None
    return Facts(
        event_type,
        event_time,
        order_id,
        place,
        None if tag == "kafka" else (tag, *source, event_type),
        any(name == "__connect.errors.topic" for name, _ in record.headers),
        status,
        {name: value for name, value in members.items() if value is not None},
    )


def _places(order):
    return (_child(order, "place_id"), _child(order, "place", "id"), _child(order, "shipping_info", "place_id"))


def _listed(event):
    """The orders of ORDER_IDS_LISTED; a bare id is an order that has nothing else."""
    if isinstance(event.get("order_ids"), list):
        return [{"id": found} for each in event["order_ids"] if (found := text(each)) is not None]
    if isinstance(event.get("orders"), list):
        return [each for each in event["orders"] if isinstance(each, dict)]
    return [event["order"]] if isinstance(event.get("order"), dict) else []


def _notify(event, order, event_type, tag, source, event_time, place, zone, change):
    """`change` is the previous and the new status, where the event is about one."""
    order_id = _first(order.get("id"), order.get("order_number")) or ""
    visible_id = _first(order.get("order_number"), order.get("reference_id"), order.get("id")) or ""
    start, end = _named_slot(order, zone)
    date, order_date = _named_date(order, zone)
    wire_type = "event_" + event_type
    identity = message_id(tag, source, wire_type, order_id, event_time)
    payload = {
        "message_id": identity,
        "order_id": order_id,
        "parent_order_id": _first(order.get("parent_order_id")) or order_id,
        "visible_id": visible_id,
        "event_type": wire_type,
        "delivery_date": date or order_date or _today(event_time, zone),
        "start_time": start or "00:00",
        "end_time": end or "23:59",
        "place_id": place,
    }
    if change is not None:
        payload |= {"previous_status": change[0], "new_status": change[1], "order_number": visible_id}
    return Notification(identity, order_id, place, event_time, payload, _kind(order), order_id == "")


def _kind(order):
    return next((t for v in (order.get("order_type"), order.get("type")) if (t := _order_type(v))), None)


def _order_type(value):
    return value.strip().lower() if isinstance(value, str) and value.strip().lower() in ("food", "d2d") else None


# -- Provider messages (7) ------------------------------------------------------------------------


def is_too_large(notification):
    size = len("default") + len(notification.default_string.encode())
    if notification.order_type:
        size += len("order_type" + notification.order_type + "order_id" + notification.order_id)
    return size > MAX_PAYLOAD_BYTES


def value_of(notification, device, settings):
    """The value of the dispatch record, as an object."""
    expiration = str(notification.event_time // 1000 + settings.ttl_seconds)
    data = {"default": notification.default_string}
    if notification.order_type:
        data |= {"order_type": notification.order_type, "order_id": notification.order_id}
    background = {"apns-push-type": "background", "apns-priority": "5", "apns-expiration": expiration}
    if device.platform == "apns":
        return {
            "device_token": device.token,
            "environment": device.environment,
            "headers": {"apns-topic": device.app, **background, "apns-collapse-id": notification.message_id},
            "payload": {"aps": {"content-available": 1}, **data},
        }
    return {
        "message": {
            "token": device.token,
            "data": data,
            "android": {"priority": settings.android_priority, "ttl": f"{settings.ttl_seconds}s"},
            "apns": {"headers": background, "payload": {"aps": {"content-available": 1}}},
        }
    }


def headers_of(notification, device, record, settings):
    """The headers of the dispatch record by default."""
    headers = {
        "message-id": notification.message_id,
        "platform": device.platform,
        "source": record.source,
        "expires-at": str(notification.event_time + settings.ttl_seconds * 1000),
    }
    if notification.degraded:
        headers["x-degraded"] = "order_id"
    trace = next((value for name, value in record.headers if name == "traceparent"), None)
    if trace is not None:
        headers["traceparent"] = trace.decode()
    return headers


# -- Subscriptions --------------------------------------------------------------------------------


class Subscriptions:
    """Who was subscribed at any position of the topic: the fold of its records below that position.

    A position is the next offset of each partition. The records come in the order of their offsets within each partition;
    a key has one partition, always.
    """

    def __init__(self, records):
        # By audience and token's hash: the partition, and the offsets at which the device changed, None where it went.
        self._changes = {}
        self.ends = {}
        for record in records:
            self.ends[record.partition] = record.offset + 1
            audience, _, token_hash = (record.key or b"").decode(errors="replace").rpartition("|")
            device = _device(record.value, audience, token_hash) if record.value is not None else None
            if device is None and record.value is not None:
                continue
            changes = self._changes.setdefault(audience, {}).setdefault(token_hash, (record.partition, [], []))
            changes[1].append(record.offset)
            changes[2].append(device)

    def at(self, audience, position=None):
        """The devices of an audience; at the end of the topic without a position."""
        for partition, offsets, devices in self._changes.get(audience, {}).values():
            count = len(offsets) if position is None else bisect.bisect_left(offsets, position[partition])
            if count and (device := devices[count - 1]) is not None:
                yield device

    def knows(self, audience, token_hash):
        """Whether the device ever was one of the audience."""
        return token_hash in self._changes.get(audience, {})

    def audiences(self):
        return self._changes.keys()


def _device(value, audience, token_hash):
    """The device of a subscription, or None where it is malformed: such a record changes nothing."""
    try:
        value = json.loads(value)
        token = value["token"]
        if value["audience"] != audience or hashlib.sha256(token.encode()).hexdigest() != token_hash:
            return None
        last_seen = parse_event_time(value.get("last_seen_at"))
        return Device(token, token_hash, value["platform"], value["app"], value["environment"], last_seen)
    except (ValueError, KeyError, TypeError):
        return None


def recipients(notification, subscriptions, settings, position=None):
    for device in subscriptions.at(f"place/{notification.place_id}", position):
        if device.last_seen is None or notification.event_time - device.last_seen <= settings.max_age_ms:
            yield device
