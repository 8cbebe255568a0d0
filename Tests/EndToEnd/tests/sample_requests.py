"""Requests and devices for the tests of the rules of requests."""

import json

from model.records import Device, Record, RequestSettings, Settings
from model.request_messages import value_of
from model.requests import outcome_of

NOW = 1_751_875_337_000
FCM = Device("made-up-token", "0" * 64, "fcm", "com.example.shop", "production", None)
APNS = Device("0a1b2c3d", "1" * 64, "apns", "com.example.shop", "production", None)
APP = {"title": "42", "body": "The purpose of life", "data": {"type": "Generic"}}
MESSAGE = {"title": "Bills", "body": "Three new bills"}


def record(value, headers=(), timestamp=NOW):
    value = value if isinstance(value, (bytes, type(None))) else json.dumps(value).encode()
    headers = tuple((name, text.encode()) for name, text in dict(headers).items())
    return Record("notifications.requests", 3, 4711, timestamp, b"user/17", value, headers)


def settings(**members):
    return Settings(requests=RequestSettings(**members))


def outcome(value, headers=(), clock=NOW, timestamp=NOW, **members):
    return outcome_of(record(value, headers, timestamp), settings(**members), clock)


def request_of(value, **members):
    """The request with this audience beside what is given."""
    return outcome({"request_id": "r", "requested_at": NOW, "audience": "user/17"} | value, **members)


def app(data=None, **members):
    """A request with an app notification of the type Generic, and these members of its data."""
    return {"app": APP | members | {"data": {"type": "Generic"} | (data or {})}}


def message(**members):
    return {"message": MESSAGE | members}


def sent(value, **members):
    """The messages to a device of FCM and to one of APNs, as objects."""
    found = request_of(value, **members)
    assert found.request, found
    return [json.loads(value_of(found.request, device, settings(**members))) for device in (FCM, APNS)]


def refused(value, **members):
    """The codes of the dead letter, and the members that it names."""
    found = request_of(value, **members)
    return found.dead_letter and set(found.dead_letter), set(found.members)
