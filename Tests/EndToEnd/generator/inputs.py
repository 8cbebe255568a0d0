"""What the generators make: records to produce, and the texts in them."""

import datetime
import hashlib
import json
from typing import NamedTuple, Optional

BASE_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z: the month in which Europe's clocks change
DAY_MS = 86_400_000


class Input(NamedTuple):
    """A record to produce."""

    key: Optional[bytes]
    value: Optional[bytes]
    headers: tuple = ()


def iso(milliseconds, suffix="Z"):
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}" + suffix


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event_about(order, event_id, event_type="ORDER_CREATED"):
    """An event in the native envelope, with the id of the order as its key."""
    return Input(order["id"].encode(), compact({"event_id": event_id, "event_type": event_type, "order": order}))


def subscription_key(audience, token):
    return f"{audience}|{hashlib.sha256(token.encode()).hexdigest()}".encode()


def subscription(place, token, **members):
    """The record that subscribes a device to a place, by FCM; `members` replace and extend its value."""
    audience = f"place/{place}"
    value = {"audience": audience, "token": token, "platform": "fcm", "app": "com.example.shop"} | members
    return Input(subscription_key(audience, token), compact(value))


def unsubscription(place, token):
    return Input(subscription_key(f"place/{place}", token), None)
