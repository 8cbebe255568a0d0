"""What the oracles judge of requests: records that `carillon render` writes for them, each with what was asked for.

What was asked for is the independent reading of the rules in Tests/EndToEnd/model, before anything is rendered of it.
"""

import json
import pathlib
import random
from typing import NamedTuple

from generator.inputs import Input, compact, iso, subscription_key
from generator.requests import Requests
from harness.rendering import has_text_headers, records_of, render
from model.records import Device, Record, RequestSettings, Settings
from model.request_messages import pushes_of
from model.request_repeats import Repeats
from model.requests import Request
from model.subscriptions import Subscriptions

TOPIC = "notifications.requests"
AUDIENCE = "user/17"
BASE_MS = 1_751_875_337_000
# The token of the one device for each provider.
DEVICES = {"fcm": "made-up-token", "apns": "0a1b2c3d"}
# A value of each field of document 5 and its extension by localisation keys and `silent`.
FIELDS = {
    "title": "Ada/Öl",
    "body": 'The purpose\nof "life"',
    "titleLocKey": "TITLE",
    "titleLocArgs": ["a", ""],
    "bodyLocKey": "BODY",
    "bodyLocArgs": ["b", "c"],
    "badge": 3,
    "sound": "default",
    "icon": "ic_stat",
    "category": "BILL",
    "collapseKey": "bills",
    "validUntil": "2025-07-07T09:02:17Z",
    "extras": {"k": "v", "n": 1.5, "i": 7, "b": True, "none": None, "o": {"x": [1, None]}},
}
# What a field cannot be without.
COMPANIONS = {"titleLocArgs": ["titleLocKey"], "bodyLocArgs": ["bodyLocKey"]}
# The settings that decide what is sent, and their flags.
OTHER_SETTINGS = (
    Settings(requests=RequestSettings(ttl_seconds=3_600, notification_count=True, ignore_valid_until=True)),
    [
        *("--set", "requests.ttl=1h", "--set", "requests.notification-count=on"),
        *("--set", "requests.compat-ignore-valid-until=on"),
    ],
)


class Push(NamedTuple):
    """One record of the dispatch topic, the request and the device that it is for."""

    record: Record
    request: Request
    device: Device

    @property
    def value(self):
        return json.loads(self.record.value)


def document_2():
    """The document's own example of each type."""
    return json.loads(pathlib.Path(__file__).with_name("document-2").joinpath("examples.json").read_text())


def fields_of_document_5():
    """Messages: each field alone, all of them together, and none; each of them visible and silent."""
    for names in ([name] for name in FIELDS):
        yield from visible_and_silent(names)
    yield from visible_and_silent(FIELDS)
    yield from visible_and_silent([])


def visible_and_silent(names):
    message = message_with(names)
    yield message if message.keys() & {"title", "body", "titleLocKey", "bodyLocKey"} else {"title": "42"} | message
    yield message | {"silent": True}


def some_fields_of_document_5(seed, count):
    """Messages with any of the fields, visible or silent."""
    chance = random.Random(f"fields {seed}")
    for _ in range(count):
        yield chance.choice(list(visible_and_silent(chance.sample(list(FIELDS), chance.randrange(len(FIELDS))))))


def message_with(names):
    wanted = {*names, *(each for name in names for each in COMPANIONS.get(name, ()))}
    return {name: value for name, value in FIELDS.items() if name in wanted}


def requests_for(contents):
    """A request for each of these contents, `{"app": …}` or `{"message": …}`, and the moment of its record."""
    for at, content in enumerate(contents):
        body = {"request_id": f"r-{at}", "requested_at": iso(BASE_MS + at), "audience": AUDIENCE} | content
        yield BASE_MS + at, Input(AUDIENCE.encode(), compact(body))


def generated(seed, count, bad_rate=0.0):
    """Requests of all kinds and in every envelope, each with the moment of its record."""
    source = Requests(seed, [AUDIENCE], bad_rate=bad_rate)
    return [(source.now, made.input) for made in (source.next() for _ in range(count)) if has_text_headers(made.input)]


def table():
    """Values of subscriptions: each device to the one audience."""
    members = {"audience": AUDIENCE, "app": "com.example.shop", "environment": "production"}
    return [members | {"platform": platform, "token": token} for platform, token in DEVICES.items()]


def render_requests(harness, timed, *arguments):
    """The records of these requests, and what `carillon render` writes for them."""
    records = [Record(TOPIC, at % 3, at, moment, *each) for at, (moment, each) in enumerate(timed)]
    subscriptions = [compact(each) for each in table()]
    written = records_of(render(harness, records, subscriptions, "--set", f"topic.requests={TOPIC}", *arguments))
    return records, written


def pushes(harness, timed, settings, *arguments):
    """Every push for these requests. One that is missing, or one too many, is an AssertionError."""
    records, written = render_requests(harness, timed, *arguments)
    keys = [subscription_key(each["audience"], each["token"]) for each in table()]
    values = zip(keys, map(compact, table()))
    subscriptions = Subscriptions([Record("subscriptions", 0, at, 0, *each) for at, each in enumerate(values)])
    wanted, repeats = {}, Repeats()
    for record in records:
        found, outcome = repeats.applied(record, pushes_of(record, subscriptions, settings, clock=record.timestamp))
        wanted |= {(record.source, each.device.token_hash): (outcome.request, each.device) for each in found}
    result = []
    for record in written:
        headers = dict(record.headers)
        if "x-error-code" not in headers:
            result.append(Push(record, *wanted.pop((headers["source"].decode(), record.key.decode()))))
    assert not wanted, f"{len(wanted)} pushes were not written, the first for {next(iter(wanted))}"
    return result


def comparable(value):
    """A JSON value in which `true` and `1` differ, as they do not in Python."""
    if isinstance(value, dict):
        return {name: comparable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [comparable(element) for element in value]
    return (bool, value) if isinstance(value, bool) else value
