"""Seeded requests: app notifications and messages in every envelope, and bad ones among them.

What is made says whether it is good: a bad one has the code of its dead letter.
"""

import base64
import random
import uuid
from typing import NamedTuple, Optional

from generator.inputs import BASE_MS, Input, compact, iso

TYPES = (
    "Generic NewBill BillExportStarted NewBankingCardAddedSuccess NewBankingCardAddedError DatevSuccess DatevError "
    "WarrantyReminder FinoSynchronisation FinoDisconnected FinoChallengeRequired LoyaltyPoints"
).split()
# A pair that a type has, in a form in which it may come.
PAIRS = {
    "NewBill": ("bill_matched_via_banking_card", True),
    "NewBankingCardAddedSuccess": ("bank_card_link_success", "true"),
    "NewBankingCardAddedError": ("bank_card_link_success", False),
    "DatevSuccess": ("view", "datev_success"),
    "DatevError": ("message”", "Super nice error message"),
    "FinoSynchronisation": ("action", "added"),
    "FinoDisconnected": ("service", "fino"),
    "FinoChallengeRequired": ("bankId", 4711),
}
TEXTS = ("42", "The purpose of life", 'Öl & "Essig"', " nicht\ngetrimmt\t", "😀/\\", "\u0001\u2028", "x" * 200)
VALUES = (
    *TEXTS,
    "",
    True,
    False,
    None,
    0,
    -1,
    1.0,
    1.5,
    -0.0,
    1e21,
    1e-7,
    123456789012345678,
    2**64 - 1,
    [],
    {},
    [1, None, {"a": [True]}],
    {"ü": 1.0, "x": {"y": "z"}},
)
KEYS = ("k", "bill_id", "view_id", "ключ", 'a"b', "data", "fields", "From", "aps2", "collapse_key", "notificationid", "gc")


class Made(NamedTuple):
    """A request, what it was made as, and the code of its dead letter if it is a bad one."""

    kind: str
    code: Optional[str]
    input: Input


class Requests:
    """Requests of many kinds to these audiences; the share `brief_rate` of the good ones expires about now."""

    def __init__(self, seed, audiences, bad_rate=0.01, brief_rate=0.0):
        self.chance = random.Random(f"requests {seed}")
        self.audiences, self.bad_rate, self.brief_rate = audiences, bad_rate, brief_rate
        self.now = BASE_MS + 8 * 3_600_000
        self.bad = list(KINDS)
        self.past = []

    def next(self, now=None):
        """The next request; `now` is in milliseconds, without it time passes with each request."""
        self.now = self.now + self.chance.randrange(1, 20_000) if now is None else now
        if self.past and self.maybe(0.02):
            again = self.chance.choice(self.past)
            # One in three has other bytes.
            return again if self.maybe(0.7) else again._replace(input=again.input._replace(value=again.input.value + b" "))
        # Every kind has its turn.
        if self.maybe(self.bad_rate):
            kind = self.bad.pop(0)
            self.bad.append(kind)
            code, spoil = KINDS[kind]
            spoiled = spoil(self)
            return Made(kind, code, spoiled if isinstance(spoiled, Input) else self.wrap(spoiled))
        kind = self.chance.choice(("app", "message"))
        made = Made(kind, None, self.wrap(self.body(kind)))
        if self.maybe(0.3):
            self.past = [*self.past[-99:], made]
        return made

    def maybe(self, share):
        return self.chance.random() < share

    def uuid(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def time(self, milliseconds):
        return self.chance.choice((iso(milliseconds), iso(milliseconds, "+00:00"), milliseconds, str(milliseconds)))

    # -- Good ones ----------------------------------------------------------------------------------

    def body(self, kind):
        chance, body = self.chance, {}
        if self.maybe(0.9):
            body["request_id"] = self.uuid() if self.maybe(0.9) else chance.randrange(10**9)
        if self.maybe(0.8):
            body["requested_at"] = self.time(self.now)
        few = chance.choices(self.audiences, k=chance.randrange(1, 4))
        body["audience"] = few[0] if self.maybe(0.7) else few
        body[kind] = self.app() if kind == "app" else self.message()
        if self.maybe(0.2) and "validUntil" not in body[kind]:
            # One in ten of them is in the past.
            body["expires_at"] = self.time(self.now + chance.randrange(-200_000, 2_000_000) * 1000)
        if self.brief_rate and self.maybe(self.brief_rate):
            body[kind].pop("validUntil", None)
            body["expires_at"] = self.now + chance.randrange(-1_000, 5_000)
        if self.maybe(0.2) and "collapseKey" not in body[kind]:
            body["collapse_key"] = chance.choice(("bills", "two words", "schlüssel", "x" * 65))
        if self.maybe(0.3):
            body["priority"] = chance.choice(("high", "normal", None))
        return body

    def app(self):
        name = self.chance.choice(TYPES)
        data = {"type": name}
        if name in PAIRS and self.maybe(0.5):
            key, value = PAIRS[name]
            data[key] = value
        data |= self.custom()
        app = {"title": self.chance.choice(TEXTS), "body": self.chance.choice(TEXTS), "data": data}
        if self.maybe(0.4):
            app["imageUrl"] = self.chance.choice(("https://example.com/a.jpg", "http://example.com/ä?b=1&c=/", None))
        # Too large for both providers.
        if self.maybe(0.02):
            data["k"] = "x" * 4_096
        if self.maybe(0.2):
            app["data"] = dict(reversed(data.items()))
        return app

    def custom(self):
        chance = self.chance
        custom = {key: chance.choice(VALUES) for key in chance.sample(KEYS, chance.randrange(4))}
        if self.maybe(0.2):
            custom |= {"order_type": chance.choice(("food", " D2D ", "pizza", None)), "order_id": chance.choice(("a&b", 12345, ""))}
        return custom

    def message(self):
        chance, is_silent = self.chance, self.maybe(0.3)
        message = {
            "title": chance.choice(TEXTS),
            "body": chance.choice(TEXTS),
            "badge": chance.randrange(10),
            "sound": "default",
            "icon": "ic_stat",
            "category": "BILL",
            "collapseKey": chance.choice(("bills", "ü" * 40)),
            "validUntil": self.time(self.now + chance.randrange(1, 10**7) * 1000),
            "titleLocKey": "T",
            "titleLocArgs": chance.choices((*TEXTS, ""), k=chance.randrange(3)),
            "bodyLocKey": "B",
            "bodyLocArgs": ["b"],
            "silent": is_silent,
            "extras": self.custom(),
        }
        if is_silent:
            message["extras"].pop("order_type", None)
        for name in chance.sample(list(message), chance.randrange(len(message))):
            if name != "silent":
                message[name] = None
        for key in ("title", "body"):
            if message[key + "LocKey"] is None:
                message[key + "LocArgs"] = None
        if not is_silent and message["title"] is None:
            message["title"] = "42"
        return {name: value for name, value in message.items() if value is not None or self.maybe(0.2)}

    # -- Envelopes ----------------------------------------------------------------------------------

    def wrap(self, body):
        chance, key, value = self.chance, self._key(body), compact(body)
        if self.maybe(0.03):
            # A member that occurs twice: the first one does not count.
            value = b'{"audience":"place/nobody",' + value[1:]
        form = chance.randrange(20)
        if form == 0:
            return Input(key, b"\0\0\0\0\7" + value)
        if form in (1, 2):
            names = {"ce_specversion": "1.0", "ce_id": self.uuid(), "ce_source": "/billing", "ce_type": "com.example.request"}
            names["ce_time"] = iso(self.now)
            return Input(key, value, tuple((name, text.encode()) for name, text in names.items()))
        if form in (3, 4, 5):
            envelope = {"specversion": "1.0", "id": self.uuid(), "source": "/billing", "type": "com.example.request"}
            envelope |= {"time": iso(self.now)} if form == 3 else {}
            envelope |= {"data_base64": base64.b64encode(value).decode()} if form == 4 else {"data": body}
            headers = () if form == 5 else (("content-type", b"application/cloudevents+json; charset=UTF-8"),)
            return Input(key, compact(envelope), headers)
        if form in (6, 7, 8):
            value = (value, compact(value.decode()), compact({"schema": {"type": "string"}, "payload": body}))[form - 6]
            return Input(key, value, (("id", self.uuid().encode()),))
        if form == 9:
            trace = f"00-{chance.getrandbits(128):032x}-{chance.getrandbits(64):016x}-01"
            trace = chance.choice((trace, trace, trace.upper(), f"01{trace[2:]}", trace + "0" * 4096))
            return Input(key, value, (("traceparent", trace.encode()),))
        return Input(key, value)

    @staticmethod
    def _key(body):
        audience = body.get("audience")
        first = audience[0] if isinstance(audience, list) and audience else audience
        return first.encode() if isinstance(first, str) else None


# -- Bad ones -------------------------------------------------------------------------------------


def _with(kind, **members):
    """A request of this kind with members that it must not have."""
    return lambda source: source.body(kind) | members


def _app(**members):
    return lambda source: source.body("app") | {"app": {"title": "a", "body": "b", "data": {"type": "Generic"}} | members}


def _data(**members):
    return _app(data={"type": "FinoDisconnected"} | members)


def _message(**members):
    return lambda source: source.body("message") | {"message": {"title": "a"} | members}


BAD, CONFLICT = "bad_request", "conflicting_value"
# By what is wrong: the code of the dead letter, and how the request is made.
KINDS = {
    "no JSON": ("invalid_json", lambda source: Input(None, b'{"audience":')),
    "bad UTF-8": ("invalid_utf8", lambda source: Input(None, b'{"audience":"\xc3\x28"}')),
    "a number that is none": ("invalid_number", lambda source: Input(None, b'{"audience":1e400}')),
    "null value": ("null_value", lambda source: Input(b"user/17", None)),
    "an array": ("not_an_event", lambda source: Input(None, b"[]")),
    "no audience": (BAD, _with("app", audience=None)),
    "an unknown audience": (BAD, _with("app", audience="team/7")),
    "too many audiences": (BAD, _with("message", audience=["user/17"] * 1_001)),
    "an empty list": (BAD, _with("message", audience=[])),
    "a request id that is an object": (BAD, _with("app", request_id={})),
    "a time that is none": (BAD, _with("app", requested_at="tomorrow")),
    "an expiry that is none": (BAD, _with("app", expires_at="24h")),
    "an unknown priority": (BAD, _with("message", priority="urgent")),
    "a key that is a number": (BAD, _with("app", collapse_key=17)),
    "an unknown member": (BAD, _with("app", colapse_key="bills")),
    "both": (BAD, _with("app", message={"title": "a"})),
    "neither": (BAD, _with("app", app=None)),
    "an app that is a text": (BAD, _with("app", app="Hello")),
    "no title": (BAD, _app(title=None)),
    "a blank body": (BAD, _app(body=" \u3000")),
    "an image that is no URL": (BAD, _app(imageUrl="ic_stat")),
    "no data": (BAD, _app(data=None)),
    "no type": (BAD, _app(data={"k": "v"})),
    "an unknown member of app": (BAD, _app(imageURL="https://example.com")),
    "a key of FCM": (BAD, _data(**{"google.x": "1"})),
    "a key of ours": (BAD, _data(message_id="1")),
    "an empty key": (BAD, _data(**{"”": "1"})),
    "another fixed pair": (CONFLICT, _data(action="added")),
    "another image": (CONFLICT, _app(imageUrl="https://a", data={"type": "Generic", "imageUrl": "https://b"})),
    "an unknown member of message": (BAD, _message(colapseKey="bills")),
    "a badge that is a text": (BAD, _message(badge="3")),
    "a negative badge": (BAD, _message(badge=-1)),
    "arguments without a key": (BAD, _message(titleLocArgs=["a"], titleLocKey=None)),
    "arguments that are numbers": (BAD, _message(titleLocArgs=[1], titleLocKey="T")),
    "silent that is a text": (BAD, _message(silent="true")),
    "nothing to show": (BAD, _message(title=None)),
    "extras that are a list": (BAD, _message(extras=[])),
    "aps in extras": (BAD, _message(extras={"aps": {}})),
    "a type in extras": (BAD, _message(extras={"type": "NewBill"})),
    "two keys": (CONFLICT, lambda source: _message(collapseKey="a")(source) | {"collapse_key": "a"}),
    "two expiries": (CONFLICT, lambda source: _message(validUntil=iso(source.now))(source) | {"expires_at": source.now}),
    "a silent deep link": (CONFLICT, _message(silent=True, extras={"order_type": "food", "order_id": "1"})),
}
