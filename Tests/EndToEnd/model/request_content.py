"""What a request says: the objects of documents 2 and 5, checked and normalised (docs/rules.md, sections 8.6, 9 and 10).

A problem is a pair: the code of the dead letter, and the member that the sentence names.
"""

from dataclasses import dataclass, field
from typing import Optional

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

    def __init__(self, members, path, allowed, problems):
        # Null and blank strings are absent.
        self.members = {name: value for name, value in members.items() if not is_absent(value)}
        self.path, self.problems = path, problems
        for name in members:
            if name not in allowed:
                self.refuse(name)

    def refuse(self, name, code="bad_request"):
        self.problems.append((code, self.path + name))

    def of_kind(self, kind, name, required=False):
        value = self.members.get(name)
        if value is None:
            if required:
                self.refuse(name)
        elif isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        else:
            self.refuse(name)
        return None

    def string(self, name, required=False):
        return self.of_kind(str, name, required)

    def time(self, name):
        value = self.members.get(name)
        if value is None:
            return None
        milliseconds = parse_event_time(value)
        if milliseconds is not None and 0 <= milliseconds <= LATEST:
            return milliseconds
        self.refuse(name)
        return None

    def strings(self, name, owner):
        """The arguments of a localisation key."""
        values = self.of_kind(list, name) or []
        for at, value in enumerate(values):
            if not isinstance(value, str):
                self.refuse(f"{name}[{at}]")
        if values and owner not in self.members:
            self.refuse(name)
        return values


def is_absent(value):
    return value is None or isinstance(value, str) and not trimmed(value)


def read_app(members, settings, problems, notes):
    """Document 2's object."""
    reader = Reader(members, "app.", ("title", "body", "imageUrl", "data"), problems)
    content = Content(
        title=reader.string("title", required=True),
        body=reader.string("body", required=True),
        image=reader.string("imageUrl"),
    )
    if content.image is not None and not content.image.startswith(("https://", "http://")):
        reader.refuse("imageUrl")
    data = reader.of_kind(Members, "data", required=True)
    if data is None:
        return content
    values = {}
    for key, value in data.pairs:
        unquoted = key.strip(QUOTES)
        notes["quoted_keys"] += unquoted != key
        values[unquoted] = value
    given = {key: value for key, value in values.items() if value is not None}
    _check_keys(values, reader, "data")
    if content.image is not None and "imageUrl" in given:
        reader.refuse("imageUrl", "conflicting_value")
    if as_text(given.get("type")) is None:
        reader.refuse("data.type")
        return content
    custom = {key: _app_text(value) for key, value in given.items()}
    known = (APP_TYPES | settings.app_types).get(custom["type"])
    if known is None:
        notes["unknown_types"] += 1
        if settings.unknown_types == "dead-letter":
            reader.refuse("data.type", "unknown_type")
    fixed, expected = known or ({}, ())
    for key, value in fixed.items():
        found = custom.setdefault(key, value)
        if value in ("True", "False") and found.lower() == value.lower():
            custom[key] = value
        elif found != value:
            reader.refuse("data." + key, "conflicting_value")
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
        badge=reader.of_kind(int, "badge"),
        sound=reader.string("sound"),
        icon=reader.string("icon"),
        category=reader.string("category"),
        collapse_key=reader.string("collapseKey"),
        valid_until=reader.time("validUntil"),
        silent=reader.of_kind(bool, "silent") or False,
    )
    if content.badge is not None and not 0 <= content.badge < 1 << 31:
        reader.refuse("badge")
    shown = ("title", "body", "titleLocKey", "bodyLocKey")
    if not content.silent and not any(name in reader.members for name in shown):
        reader.refuse("title")
    extras = reader.of_kind(Members, "extras")
    if extras is not None:
        _check_keys(extras, reader, "extras", "type")
        content.custom = {key: value for key, value in extras.items() if value is not None}
        if _note_custom(content.custom, content.custom, notes) and content.silent:
            reader.refuse("silent", "conflicting_value")
    return content


def _check_keys(keys, reader, holder, *more):
    """The keys that no request may have beside those that Carillon writes."""
    refused = ("", "from", "message_type", "notification", "aps", "message_id", "default", "event_type", "actiontype", *more)
    for key in keys:
        if key in refused or key.startswith(("google", "gcm")):
            reader.refuse(f"{holder}.{key}")


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
