"""What a request says: the objects of documents 2 and 5, checked and normalised (docs/rules.md, sections 8.6, 9 and 10).

Where something is wrong with them, there is a problem for each way to say so.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from model.json_text import Members, as_text, number_text, trimmed, written
from model.values import parse_event_time

LATEST = 253_402_300_799_999
CLICK = {"click_action": "FLUTTER_NOTIFICATION_CLICK"}
# The types of document 2: the fixed pairs of each, and the keys that it is expected to have.
APP_TYPES = {
    "Generic": ({}, ()),
    "NewBill": ({"bill_matched_via_banking_card": "True"}, ()),
    "BillExportStarted": ({}, ()),
    "NewBankingCardAddedSuccess": ({"bank_card_link_success": "True"}, ()),
    "NewBankingCardAddedError": ({"bank_card_link_success": "False"}, ()),
    "DatevSuccess": (CLICK | {"view": "datev_success"}, ()),
    "DatevError": (CLICK | {"view": "datev_failed"}, ("message", "errorUri", "error", "requestId")),
    "WarrantyReminder": ({}, ()),
    "FinoSynchronisation": ({"service": "fino", "action": "added"}, ()),
    "FinoDisconnected": ({"service": "fino", "action": "deleted"}, ()),
    "FinoChallengeRequired": ({}, ("bankId",)),
}
QUOTES = "\"'‘’“”"
# What a value may be, as the sentences of section 8.7 say it.
STRING, REQUIRED, TEXT = "a string", "a string that is not blank", "a string or a number"
OBJECT, STRINGS, FLAG = "an object", "a list of strings", "true or false"
TIME = "an ISO 8601 time, or seconds or milliseconds since 1970"
PRIORITY = "high or normal"
IMAGE_URL = "a URL that begins with https:// or http://"
BADGE = "an integer from 0 to 2147483647"
AUDIENCE = "place/<id>, user/<id>, channel/<id> or device/<SHA-256 of the token> in at most 1,024 bytes"
# The kinds of value that are shown themselves.
SHOWN = {TIME: (str, int, float), PRIORITY: (str,), IMAGE_URL: (str,), AUDIENCE: (str,), BADGE: (int,)}


class Problem(NamedTuple):
    """The code of the dead letter, the member that its sentence names, the sentence, and a JSON pointer to its place."""

    code: str
    member: str
    sentence: str
    pointer: str


@dataclass
class Content:
    """The normalised content of a request. None is what is absent."""

    title: Optional[str] = None
    body: Optional[str] = None
    image: Optional[str] = None
    click_action: Optional[str] = None
    title_key: Optional[str] = None
    title_arguments: list = field(default_factory=list)
    body_key: Optional[str] = None
    body_arguments: list = field(default_factory=list)
    badge: Optional[int] = None
    sound: Optional[str] = None
    icon: Optional[str] = None
    category: Optional[str] = None
    collapse_key: Optional[str] = None
    valid_until: Optional[int] = None
    silent: bool = False
    # The members of `data`, or those beside `aps`, without the last one.
    custom: dict = field(default_factory=dict)


class Reader:
    """Reads the members of one object of a request, and collects what is wrong with it."""

    shown = SHOWN

    def __init__(self, members, path, allowed, problems, holder=None):
        # Null and blank strings are absent.
        self.members = {name: value for name, value in members.items() if not is_absent(value)}
        self.all, self.path, self.problems = members, path, problems
        for name in members:
            if name not in allowed:
                of = holder or path.removesuffix(".") or "the request"
                self.refuse(name, f"{quoted(name)} is not a member of {of}; allowed are {', '.join(allowed)}")

    def refuse(self, name, sentence, code="bad_request", at=None):
        """`at` has the names on the way from the object to the place; without it that is the member `name`."""
        way = [*re.findall(r"[^.[\]]+", self.path), *((name,) if at is None else at)]
        pointer = "".join("/" + each.replace("~", "~0").replace("/", "~1") for each in way)
        self.problems.append(Problem(code, self.path + name, sentence, pointer))

    def refuse_value(self, name, value, allowed, at=None):
        self.refuse(name, f"{self.path}{name} is {_found(value, self.shown.get(allowed, ()))}; allowed is {allowed}", at=at)

    def of_kind(self, kind, name, allowed, required=False):
        value = self.members.get(name)
        if value is not None and isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        if value is not None or required:
            self.refuse_value(name, self.all.get(name), allowed)
        return None

    def string(self, name, required=False):
        return self.of_kind(str, name, REQUIRED if required else STRING, required)

    def time(self, name):
        value = self.members.get(name)
        if value is None:
            return None
        milliseconds = parse_event_time(value)
        if milliseconds is not None and 0 <= milliseconds <= LATEST:
            return milliseconds
        self.refuse_value(name, value, TIME)
        return None

    def strings(self, name, owner):
        """The arguments of a localisation key."""
        values = self.of_kind(list, name, STRINGS) or []
        for at, value in enumerate(values):
            if not isinstance(value, str):
                self.refuse_value(f"{name}[{at}]", value, STRING, (name, str(at)))
        if values and owner not in self.members:
            self.refuse(name, f"{self.path}{name} is there without {owner}; allowed are both or neither")
        return values


def is_absent(value):
    return value is None or isinstance(value, str) and not trimmed(value)


def quoted(text):
    """A text that was found: at most 64 bytes of it, control characters as their code."""
    data = text.encode()
    shown = "".join(
        f"<U+{ord(each):X}>" if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn") else each
        for each in data[:64].decode(errors="replace")
    )
    return f'"{shown}' + ('…"' if len(data) > 64 else '"')


def _found(value, shown):
    """What a value is; one of the kinds in `shown` is shown itself."""
    if value is None:
        return "missing"
    if isinstance(value, str) and not trimmed(value):
        return "blank"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, shown):
        return quoted(value) if isinstance(value, str) else number_text(value)
    if isinstance(value, (int, float)):
        return "a number"
    return "a string" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def both_there(one, other):
    return f"{one} and {other} are both there; allowed is one of them"


def read_app(members, settings, problems, notes):
    """Document 2's object."""
    reader = Reader(members, "app.", ("title", "body", "imageUrl", "data"), problems)
    content = Content(
        title=reader.string("title", required=True),
        body=reader.string("body", required=True),
        image=reader.of_kind(str, "imageUrl", IMAGE_URL),
    )
    if content.image is not None and not content.image.startswith(("https://", "http://")):
        reader.refuse_value("imageUrl", content.image, IMAGE_URL)
    data = reader.of_kind(Members, "data", OBJECT, required=True)
    if data is None:
        return content
    values = {}
    for key, value in data.pairs:
        unquoted = key.strip(QUOTES)
        notes["quoted_keys"] += unquoted != key
        values[unquoted] = value
    given = {key: value for key, value in values.items() if value is not None}
    _check_keys(values, reader, "data")
    if "imageUrl" in reader.members and "imageUrl" in given:
        reader.refuse("imageUrl", both_there("app.imageUrl", "app.data.imageUrl"), "conflicting_value")
    if as_text(given.get("type")) is None:
        reader.refuse_value("data.type", given.get("type"), TEXT, ("data", "type"))
        return content
    custom = {key: _app_text(value) for key, value in given.items()}
    known = (APP_TYPES | settings.app_types).get(custom["type"])
    if known is None:
        notes["unknown_types"] += 1
        if settings.unknown_types == "dead-letter":
            sentence = f"{quoted(custom['type'])} is no type of app notification, such as NewBill"
            reader.refuse("data.type", sentence, "unknown_type", ("data", "type"))
    fixed, expected = known or ({}, ())
    for key, value in fixed.items():
        found = custom.setdefault(key, value)
        if value in ("True", "False") and found.lower() == value.lower():
            custom[key] = value
        elif found != value:
            sentence = f"app.data.{key} is {quoted(found)}; the type {custom['type']} has {quoted(value)}"
            reader.refuse("data." + key, sentence, "conflicting_value", ("data", key))
    notes["missing_keys"] += sum(key not in custom for key in expected)
    _note_custom(custom, given, notes)
    content.custom = custom
    content.click_action = custom.get("click_action") or None
    return content


def read_message(members, problems, notes):
    """Document 5's object."""
    names = (
        "title body titleLocKey titleLocArgs bodyLocKey bodyLocArgs badge sound icon category collapseKey validUntil extras silent"
    )
    reader = Reader(members, "message.", names.split(), problems)
    content = Content(
        title=reader.string("title"),
        body=reader.string("body"),
        title_key=reader.string("titleLocKey"),
        title_arguments=reader.strings("titleLocArgs", "titleLocKey"),
        body_key=reader.string("bodyLocKey"),
        body_arguments=reader.strings("bodyLocArgs", "bodyLocKey"),
        badge=reader.of_kind(int, "badge", BADGE),
        sound=reader.string("sound"),
        icon=reader.string("icon"),
        category=reader.string("category"),
        collapse_key=reader.string("collapseKey"),
        valid_until=reader.time("validUntil"),
        silent=reader.of_kind(bool, "silent", FLAG) or False,
    )
    if content.badge is not None and not 0 <= content.badge < 1 << 31:
        reader.refuse_value("badge", content.badge, BADGE)
    shown = ("title", "body", "titleLocKey", "bodyLocKey")
    # Whether a message is silent is not known where `silent` is refused.
    if reader.members.get("silent", False) is False and not any(name in reader.members for name in shown):
        reader.refuse("title", "message has neither a title nor a body; allowed is that only if silent is true", at=())
    extras = reader.of_kind(Members, "extras", OBJECT)
    if extras is not None:
        _check_keys(extras, reader, "extras", "type")
        content.custom = {key: value for key, value in extras.items() if value is not None}
        if _note_custom(content.custom, content.custom, notes) and content.silent:
            sentence = "message is silent, but its order_type and order_id are a deep link, which needs an alert to tap"
            reader.refuse("silent", sentence, "conflicting_value", ())
    return content


def _check_keys(keys, reader, holder, *more):
    """The keys that no request may have, since somebody else writes them."""
    owners = {name: "FCM" for name in ("from", "message_type", "notification")} | {"aps": "APNs", "message_id": "Carillon"}
    owners |= {name: "other kinds of push" for name in ("default", "event_type", "actiontype", *more)}
    for key in keys:
        owner = "FCM" if key.startswith(("google", "gcm")) else owners.get(key)
        if not key:
            reader.refuse(f"{holder}.", f"{reader.path}{holder} has an empty key", at=(holder, ""))
        elif owner:
            sentence = f"{quoted(key)} in {reader.path}{holder} is reserved for {owner}"
            reader.refuse(f"{holder}.{key}", sentence, at=(holder, key))


def _note_custom(custom, given, notes):
    """Counts what is odd, and normalises the deep link (section 5.5). Whether there is one."""
    notes["overwritten_keys"] += "collapse_key" in custom
    if "order_type" not in given or "order_id" not in given:
        return False
    order_type, order_id = as_text(given["order_type"]), as_text(given["order_id"])
    if order_type is None or order_id is None or order_type.lower() not in ("food", "d2d"):
        notes["unlinked"] += 1
        return False
    custom |= {"order_type": order_type.lower(), "order_id": order_id}
    return True


def _app_text(value):
    """A value of document 2's data as the string that is sent."""
    if isinstance(value, bool):
        return "True" if value else "False"
    return text_of(value)


def text_of(value):
    """A value as FCM's data has it."""
    if isinstance(value, str):
        return value
    return number_text(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else written(value)
