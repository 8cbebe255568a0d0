"""An independent reading of the rules: what one record of notifications.broadcasts says (docs/rules.md, section 14.1).

`broadcast_messages` renders what is sent.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from model.json_text import Members, as_text, trimmed
from model.messages import message_id
from model.records import DeadLetter, Record
from model.request_content import LATEST, TEXT, Reader, both_there, quoted
from model.request_envelope import unwrapped
from model.values import parse_event_time

DISPLAY, NON_DISPLAY = "display", "non-display"
# Of each kind, in the order of the table.
MEMBERS = {
    DISPLAY: "actiontype notificationtype notificationid expiry type channel poster fields audience published_at".split(),
    NON_DISPLAY: "actiontype notificationtype notificationid expiry channel data audience published_at".split(),
}
KINDS = ("general", "festive", "downtime", "others")
FEATURES = ("enable-feature", "disable-feature")
# An object with one of these is the broadcast itself and no envelope.
CONTENT_NAMES = ("actiontype", "notificationid")
MAX_VALIDITY_MS = 28 * 86_400_000
MAX_LANGUAGES = 100
# Below this a number could be meant as a lifetime, or as seconds.
FIRST_INSTANT = 10**11
GENERAL = "channel/General"
# What a value may be, as the sentences of section 14.4 say it.
ACTION_TYPE = "display or non-display"
DISPLAY_TYPE, FEATURE = "general, festive, downtime or others", "enable-feature or disable-feature"
EXPIRY = "a lifetime such as 34646millis, an ISO 8601 time, or milliseconds since 1970 from 10^11 on"
CANCELLATION = "cancellable or non-cancellable"
CHANNEL, CHANNEL_ID = (
    "one channel/<id> in at most 1,024 bytes",
    "the id of a channel, in at most 1,016 bytes without control characters",
)
POSTER = "a URL that begins with https://, without spaces"
FIELDS, FIELD = "a list of objects with language, title and msg", "an object"
LANGUAGE = "a language tag of at most 35 ASCII letters, digits, - and _"


class Text(NamedTuple):
    """What is shown in one language."""

    language: str
    title: str
    msg: str


@dataclass
class Broadcast:
    """A broadcast that can be sent. None is what is absent; of the kinds of content the other one's."""

    record: Record
    # `display` or `non-display`.
    kind: str
    notification_type: str
    notification_id: str
    message_id: str
    audience: str
    channel: Optional[str]
    published_at: int
    expires_at: int
    # As it is sent.
    expiry: str
    cancellation: Optional[str] = None
    poster: Optional[str] = None
    texts: tuple = ()
    data: Optional[str] = None


@dataclass
class BroadcastOutcome:
    """What a record says: a broadcast; or that one is cancelled; or a dead letter with one of the codes, and the sentences,
    where they are known."""

    broadcast: Optional[Broadcast] = None
    dead_letter: Optional[frozenset] = None
    sentences: frozenset = field(default_factory=frozenset)


def read_broadcast(record):
    """What one record says. Whether its messages are too large is not looked at."""
    if record.value is None:
        if record.key:
            return BroadcastOutcome()
        sentence = "the record has neither a key nor a value; allowed is the notificationid of what is cancelled"
        return BroadcastOutcome(dead_letter=frozenset(["bad_request"]), sentences=frozenset([sentence]))
    try:
        _, _, body = unwrapped(record, CONTENT_NAMES)
    except DeadLetter as dead:
        return BroadcastOutcome(dead_letter=dead.codes)
    problems = []
    broadcast = _read(record, body, problems)
    if problems:
        codes, _, sentences, _ = (frozenset(each) for each in zip(*problems))
        return BroadcastOutcome(dead_letter=codes, sentences=sentences)
    return BroadcastOutcome(broadcast)


class _Reader(Reader):
    shown = (
        Reader.shown
        | {each: (str,) for each in (ACTION_TYPE, CANCELLATION, POSTER, LANGUAGE, CHANNEL, CHANNEL_ID)}
        | {EXPIRY: (str, int, float)}
    )

    def one_of(self, name, values, allowed, default=None):
        value = self.members.get(name, default)
        if value not in values:
            self.refuse_value(name, self.all.get(name), allowed)
        return value


def _read(record, body, problems):
    """The broadcast, unless there are problems."""
    kind = body.get("actiontype")
    names = MEMBERS.get(kind) if isinstance(kind, str) else None
    if names is None:
        _Reader(body, "", body, problems).refuse_value("actiontype", kind, ACTION_TYPE)
        return None
    reader = _Reader(body, "", names, problems, holder=f"a {kind} broadcast")
    identity = _identity(reader, record)
    channel = reader.string("channel")
    audience = _audience(reader, channel)
    published_at = reader.time("published_at")
    if published_at is None:
        published_at = min(max(record.timestamp, 0), LATEST)
    expiry, expires_at = _expiry(reader, published_at)
    broadcast = Broadcast(
        record=record,
        kind=kind,
        notification_type=_type(reader, kind),
        notification_id=identity,
        message_id=message_id("broadcast", [identity or "", str(published_at)], kind, "", published_at),
        audience=audience,
        channel=channel,
        published_at=published_at,
        expires_at=expires_at,
        expiry=expiry,
    )
    if kind == DISPLAY:
        broadcast.cancellation = reader.one_of("type", ("cancellable", "non-cancellable"), CANCELLATION, "cancellable")
        broadcast.poster = _poster(reader)
        broadcast.texts = _texts(reader)
    else:
        broadcast.data = reader.string("data")
    return broadcast


def _identity(reader, record):
    identity = as_text(reader.members.get("notificationid"))
    if identity is None:
        reader.refuse_value("notificationid", reader.all.get("notificationid"), TEXT)
    elif record.key != identity.encode():
        key = "missing" if record.key is None else quoted(record.key.decode(errors="replace"))
        reader.refuse("key", f"the key is {key}; allowed is the notificationid, {quoted(identity)}")
    return identity


def _audience(reader, channel):
    if "audience" not in reader.members:
        if channel is None:
            return GENERAL
        if not _is_channel(f"channel/{channel}"):
            reader.refuse_value("channel", channel, CHANNEL_ID)
        return f"channel/{channel}"
    value = reader.members["audience"]
    if channel is not None:
        reader.refuse("audience", both_there("audience", "channel"), "conflicting_value")
    elif not isinstance(value, str) or not _is_channel(value):
        reader.refuse_value("audience", value, CHANNEL)
    return value


def _is_channel(text):
    return re.fullmatch(r"channel/[^\x00-\x1f\x7f]+", text) is not None and len(text.encode()) <= 1_024


def _expiry(reader, published_at):
    """How it is sent, and the instant."""
    value = reader.members.get("expiry")
    text = trimmed(value) if isinstance(value, str) else None
    if text is not None and (lifetime := re.fullmatch(r"(\d{1,18})millis", text, re.ASCII)):
        shown, expires_at = f"{int(lifetime[1])}millis", published_at + int(lifetime[1])
    else:
        number = int(text) if text is not None and re.fullmatch(r"\d+", text, re.ASCII) else value
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        expires_at = None if is_number and number < FIRST_INSTANT else parse_event_time(text if text is not None else value)
        if expires_at is None:
            reader.refuse_value("expiry", reader.all.get("expiry"), EXPIRY)
            return "", 0
        shown = str(expires_at)
    if (validity := expires_at - published_at) > MAX_VALIDITY_MS:
        sentence = f"expiry is {validity} ms after published_at; allowed are at most {MAX_VALIDITY_MS}, which is 28 days"
        reader.refuse("expiry", sentence)
    return shown, expires_at


def _type(reader, kind):
    value = reader.members.get("notificationtype")
    if not isinstance(value, str):
        reader.refuse_value("notificationtype", reader.all.get("notificationtype"), DISPLAY_TYPE if kind == DISPLAY else FEATURE)
    elif kind == DISPLAY:
        return value if value in KINDS else "others"
    elif value not in FEATURES:
        sentence = f"{quoted(value)} is no notificationtype of a non-display broadcast; allowed are {' and '.join(FEATURES)}"
        reader.refuse("notificationtype", sentence, "unknown_type")
    return value


def _poster(reader):
    value = reader.members.get("poster")
    if value is not None and not (isinstance(value, str) and re.fullmatch(r"https://[^\x00-\x20\x7f]+", value)):
        reader.refuse_value("poster", value, POSTER)
    return value


def _texts(reader):
    values = reader.of_kind(list, "fields", FIELDS, required=True)
    if values is None:
        return ()
    if not 1 <= len(values) <= MAX_LANGUAGES:
        reader.refuse("fields", f"fields has {len(values)} entries; allowed are 1 to {MAX_LANGUAGES}")
        return ()
    texts, places = [], {}
    for at, value in enumerate(values):
        if not isinstance(value, Members):
            reader.refuse_value(f"fields[{at}]", value, FIELD)
            continue
        one = _Reader(value, f"fields[{at}].", Text._fields, reader.problems)
        text = Text(*(one.string(name, required=True) for name in Text._fields))
        if text.language is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,35}", text.language):
            one.refuse_value("language", text.language, LANGUAGE)
        elif text.language is not None and (first := places.setdefault(same_tag(text.language), at)) != at:
            sentence = f'fields[{at}].language is "{text.language}", which fields[{first}] has; allowed is each language once'
            one.refuse("language", sentence, "conflicting_value")
        texts.append(text)
    return tuple(texts)


def same_tag(language):
    """A language tag in the one of its forms that stands for all (section 14.3)."""
    return language.lower().replace("_", "-")
