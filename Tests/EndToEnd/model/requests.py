"""An independent reading of the rules: what one record of notifications.requests must become (docs/rules.md, section 8).

`request_content` reads the objects of documents 2 and 5, `request_messages` renders what is sent.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Optional

from model.json_text import Members, as_text, trimmed
from model.messages import message_id
from model.records import DeadLetter, Record, Settings
from model.request_content import (
    AUDIENCE,
    LATEST,
    OBJECT,
    PRIORITY,
    TEXT,
    Content,
    Reader,
    both_there,
    is_absent,
    quoted,
    read_app,
    read_message,
)
from model.request_envelope import unwrapped
from model.values import is_utf8, parse_event_time

MEMBERS = ("request_id", "requested_at", "audience", "expires_at", "collapse_key", "priority", "app", "message")
MAX_AUDIENCES = 1_000
CONTENT = ("app", "message")
# An object with one of these is the request itself and no envelope.
CONTENT_NAMES = ("audience", *CONTENT)


@dataclass
class Request:
    """A request that can be sent."""

    record: Record
    # `app` or `message`.
    kind: str
    # Its own or its envelope's; None if its coordinates take the place of one.
    id: Optional[str]
    message_id: str
    event_time: int
    expiry: int
    # That of FCM's message; another one only where it ignores `validUntil`.
    fcm_expiry: int
    # Without repetitions, in the order of the request.
    audiences: tuple
    collapse_key: Optional[str]
    priority: Optional[str]
    content: Content


@dataclass
class RequestOutcome:
    """What becomes of a record: a request to send; or none, and the reason; or a dead letter with one of the codes."""

    request: Optional[Request] = None
    suppressed: Optional[str] = None
    dead_letter: Optional[frozenset] = None
    # The members that its sentence may name, and the sentence itself; none where the record is no request at all.
    members: frozenset = frozenset()
    sentences: frozenset = frozenset()
    # All that is wrong with a request, by code, pointer and sentence.
    problems: frozenset = frozenset()
    # Of a request that is no dead letter.
    audiences: tuple = ()
    notes: Counter = field(default_factory=Counter)
    # Of a request that has an id of its own, and would be none of the dead letters above: also one that nobody gets.
    identity: Optional[tuple] = None
    # It is a dead letter that was put back.
    is_put_back: bool = False


def outcome_of(record, settings: Settings, clock):
    """What one record must become, before it is known who gets it. `clock` is that of its transaction."""
    try:
        attributes, headers, body = unwrapped(record, CONTENT_NAMES)
    except DeadLetter as dead:
        return RequestOutcome(dead_letter=dead.codes)
    problems, notes = [], Counter()
    body = _Body(body, problems, settings.requests)
    request = _request(record, attributes, headers, body, notes, settings.requests)
    if problems:
        codes, members, sentences, _ = (frozenset(each) for each in zip(*problems))
        all_of_them = frozenset((each.code, each.pointer, each.sentence) for each in problems)
        return RequestOutcome(dead_letter=codes, members=members, sentences=sentences, problems=all_of_them)
    notes = +notes
    source, is_own = _source(record, attributes, headers, body.identity())
    known = {"identity": source if is_own else None, "is_put_back": _original(record) is not None}
    if request.expiry <= clock:
        return RequestOutcome(suppressed="expired", notes=notes, audiences=request.audiences, **known)
    return RequestOutcome(request, notes=notes, audiences=request.audiences, **known)


def recipients(request, subscriptions, settings: Settings, position=None):
    """The devices that get a request, each with the audience through which it does; and the reason if there are none."""
    reached, has_stale = {}, False
    for audience in request.audiences:
        for device in subscriptions.at(audience, position):
            if settings.requests.apps and device.app not in settings.requests.apps:
                continue
            if device.last_seen is not None and request.event_time - device.last_seen > settings.max_age_ms:
                has_stale = True
            else:
                reached.setdefault(device.token_hash, (device, audience))
    reason = None if reached else "stale_token" if has_stale else "no_subscriber"
    return list(reached.values()), reason


# -- Where it is from ------------------------------------------------------------------------------


def _source(record, attributes, headers, request_id):
    """The source of the message id, and whether it is one of the request's own (section 6)."""
    if request_id is not None:
        return (request_id,), True
    if attributes["source"] is not None and attributes["id"] is not None:
        return (attributes["source"], attributes["id"]), True
    if "id" in headers:
        return (headers["id"],), True
    return _original(record) or (record.topic, str(record.partition), str(record.offset)), False


def _original(record):
    """The coordinates of the original record, where the record is a dead letter that was put back."""
    first = {}
    for name, value in record.own_headers:
        if name.startswith("__connect.errors.") and value and is_utf8(value):
            first.setdefault(name.removeprefix("__connect.errors."), trimmed(value.decode()))
    numbers = first.get("partition", ""), first.get("offset", "")
    if first.get("topic") and all(re.fullmatch(r"\d{1,18}", each, re.ASCII) for each in numbers) and int(numbers[0]) < 1 << 31:
        return (first["topic"], *(str(int(each)) for each in numbers))
    return None


# -- The request ----------------------------------------------------------------------------------


class _Body(Reader):
    """The members of the request itself."""

    def __init__(self, members, problems, settings):
        super().__init__(members, "", MEMBERS, problems)
        self.settings = settings

    def identity(self):
        value = self.members.get("request_id")
        if value is not None and as_text(value) is None:
            self.refuse_value("request_id", value, TEXT)
        return as_text(value)

    def audiences(self):
        value = self.members.get("audience")
        listed = value if isinstance(value, list) else [value]
        if value is None:
            self.refuse_value("audience", self.all.get("audience"), AUDIENCE)
            return ()
        if not 1 <= len(listed) <= MAX_AUDIENCES:
            self.refuse("audience", f"audience has {len(listed)} entries; allowed are 1 to 1,000")
            return ()
        for number, each in enumerate(listed):
            name, at = (f"audience[{number}]", ("audience", str(number))) if listed is value else ("audience", None)
            if not isinstance(each, str) or not _is_audience(each):
                self.refuse_value(name, each, AUDIENCE, at)
            elif not _is_permitted(each, self.settings.audiences):
                permitted = ", ".join(self.settings.audiences)
                self.refuse(name, f"{name} is {quoted(each)}; requests.audiences allows {permitted}", at=at)
        return tuple(dict.fromkeys(each for each in listed if isinstance(each, str)))

    def priority(self):
        value = self.members.get("priority")
        if value is not None and value not in ("high", "normal"):
            self.refuse_value("priority", value, PRIORITY)
        return value

    def content(self):
        """The name of the object that says what to send, and the object."""
        there = [name for name in CONTENT if name in self.members]
        if len(there) != 1:
            have = "app and message" if there else "neither app nor message"
            self.refuse("app", f"the request has {have}; allowed is exactly one of them", at=())
            return None, None
        members = self.of_kind(Members, there[0], OBJECT)
        return (None, None) if members is None else (there[0], members)


def _is_permitted(audience, patterns):
    fits = (audience.startswith(each[:-1]) if each.endswith("*") else audience == each for each in patterns)
    return not patterns or any(fits)


def _is_audience(text):
    match = re.fullmatch(r"(place|user|channel|device)/([^\x00-\x1f\x7f]+)", text)
    if match is None or len(text.encode()) > 1_024:
        return False
    return match[1] != "device" or re.fullmatch("[0-9a-f]{64}", match[2]) is not None


def _request(record, attributes, headers, body: _Body, notes, settings):
    """The request; what is wrong with it is among the problems of the body."""
    requested_at, expires_at = body.time("requested_at"), body.time("expires_at")
    source, is_own = _source(record, attributes, headers, body.identity())
    key, priority, audiences = body.string("collapse_key"), body.priority(), body.audiences()
    kind, members = body.content()
    content = Content()
    if kind == "app":
        content = read_app(members, settings, body.problems, notes)
    elif kind == "message":
        content = read_message(members, body.problems, notes)
        for name, inner in (("collapse_key", "collapseKey"), ("expires_at", "validUntil")):
            if name in body.members and not is_absent(members.get(inner)):
                body.refuse(name, both_there(name, f"message.{inner}"), "conflicting_value")
    if body.problems:
        return None

    moment = requested_at if requested_at is not None else _valid_time(attributes["time"])
    timestamp = min(max(record.timestamp, 0), LATEST)
    event_time = timestamp if moment is None else moment
    by_default = event_time + settings.ttl_seconds * 1000
    expiry = next((each for each in (expires_at, content.valid_until) if each is not None), by_default)
    ignored = settings.ignore_valid_until and content.valid_until is not None
    identity_time = moment if moment is not None else 0 if is_own else timestamp
    return Request(
        record=record,
        kind=kind,
        id=source[-1] if is_own else None,
        message_id=message_id("request", source, kind, "", identity_time),
        event_time=event_time,
        expiry=expiry,
        fcm_expiry=by_default if ignored else expiry,
        audiences=audiences,
        collapse_key=_safe_key(key if key is not None else content.collapse_key),
        priority=priority,
        content=content,
    )


def _valid_time(value):
    milliseconds = parse_event_time(value)
    return milliseconds if milliseconds is not None and 0 <= milliseconds <= LATEST else None


def _safe_key(key):
    """A collapse key that a header can hold (section 8.5)."""
    if key is None or re.fullmatch(r"[\x21-\x7e]{1,64}", key):
        return key
    return hashlib.sha256(key.encode()).hexdigest()
