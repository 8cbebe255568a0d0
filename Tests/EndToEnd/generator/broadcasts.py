"""Seeded broadcasts to channels, with corrections, repeats and cancellations; bad ones; and who is in the channels, and how that
changes."""

import json
import random

from generator.inputs import DAY_MS, Input, compact, iso, subscription_key
from generator.subscriptions import LOCALES, make_device, make_subscription

GENERAL = "General"
NOBODY = "nobody"
LANGUAGES = ("en", "hi", "de", "de-AT", "pt_BR", "da")
TEXTS = ("Maintenance", 'a "quoted"\ntext', "Ω😀 / \\", "Zurück um 12 Uhr.", "x" * 150)
TYPES = ("general", "festive", "downtime", "others", "news")
HOUR_MS = 3_600_000
# How often each kind comes.
KINDS = {"new": 50, "brief": 12, "over": 4, "correction": 10, "repeat": 6, "cancel": 10, "bad": 8}


class Broadcasts:
    """Records of notifications.broadcasts. Those that are brief expire about when they are sent."""

    def __init__(self, seed, channels, brief_ms=(500, 4_000)):
        self.chance = random.Random(f"broadcasts {seed}")
        self.channels, self.brief_ms = [*channels, NOBODY], brief_ms
        self.made, self.bad = 0, list(BAD)
        # By id: what was published last of those that are not cancelled.
        self.live = {}

    def next(self, now, kind=None):
        """A record that is written now, in milliseconds since 1970."""
        kind = kind or self.chance.choices(list(KINDS), KINDS.values())[0]
        if kind == "bad":
            return self._bad(now)
        if kind in ("new", "brief", "over") or not self.live:
            self.made += 1
            return self._published(f"b-{self.made}", now, self._expiry(kind, now))
        identity = self.chance.choice(list(self.live))
        if kind == "cancel":
            del self.live[identity]
            return Input(identity.encode(), None)
        if kind == "repeat":
            return Input(identity.encode(), self.live[identity])
        return self._published(identity, now, self._expiry("new", now))

    def cancel(self, identity):
        """The cancellation of a broadcast that is live."""
        del self.live[identity]
        return Input(identity.encode(), None)

    def to_channel(self, channel, now, lifetime=HOUR_MS):
        """A broadcast to this channel, and its id."""
        self.made += 1
        identity = f"b-{self.made}"
        return identity, self._published(identity, now, f"{lifetime}millis", channel)

    def _expiry(self, kind, now):
        if kind == "over":
            return now - self.chance.randrange(DAY_MS)
        lifetime = self.chance.randrange(*self.brief_ms) if kind == "brief" else self.chance.randrange(HOUR_MS, DAY_MS)
        return self.chance.choice((f"{lifetime}millis", now + lifetime, str(now + lifetime), iso(now + lifetime)))

    def _published(self, identity, now, expiry, channel=None):
        members = self._content()
        members |= {"notificationid": identity, "expiry": expiry, "published_at": self.chance.choice((now, iso(now)))}
        channel = channel or self.chance.choice(self.channels)
        if channel != GENERAL or self.chance.random() < 0.3:
            members |= self.chance.choice(({"channel": channel}, {"audience": f"channel/{channel}"}))
        value = compact(self._wrapped(members))
        self.live[identity] = value
        return Input(identity.encode(), value)

    def _content(self):
        if self.chance.random() < 0.3:
            members = {"actiontype": "non-display", "notificationtype": self.chance.choice(("enable-feature", "disable-feature"))}
            return members | {"data": self.chance.choice((*TEXTS, None))}
        languages = self.chance.sample(LANGUAGES, self.chance.randint(1, 4))
        members = {"actiontype": "display", "notificationtype": self.chance.choice(TYPES)}
        members["fields"] = [
            {"language": each, "title": self.chance.choice(TEXTS), "msg": self.chance.choice(TEXTS)} for each in languages
        ]
        if self.chance.random() < 0.4:
            members["type"] = self.chance.choice(("cancellable", "non-cancellable"))
        if self.chance.random() < 0.3:
            members["poster"] = 'https://example.com/p.png?a="b"'
        return members

    def _wrapped(self, members):
        """The object itself, or one of the envelopes."""
        kind = self.chance.random()
        if kind < 0.85:
            return members
        if kind < 0.95:
            return {"specversion": "1.0", "id": "1", "source": "/cms", "type": "broadcast", "data": members}
        return json.dumps(members)

    def _bad(self, now):
        """All of the bad ones come in turn. They have ids of their own, but for some: these replace a broadcast."""
        self.bad = self.bad or list(BAD)
        self.made += 1
        identity = f"bad-{self.made}"
        if self.live and self.chance.random() < 0.2:
            identity = self.chance.choice(list(self.live))
            del self.live[identity]
        members = self._content() | {"notificationid": identity, "published_at": now, "expiry": "3600000millis"}
        value = BAD[self.bad.pop(self.chance.randrange(len(self.bad)))](members)
        return Input(identity.encode(), value if isinstance(value, bytes) else compact(value))


class Members:
    """The subscriptions of the channels, with some of places, which are nobody's business; and how they change."""

    def __init__(self, seed, channels, devices, now):
        self.chance, self.rotations = random.Random(f"members {seed}"), random.Random(f"rotations {seed}")
        self.channels, self.now = channels, now
        # By key: what was written last of those that are subscribed, and of those that are not any more.
        self.live, self.gone = {}, {}
        # The keys of both, in no order, with some that have gone over to the other one.
        self.keys = {id(self.live): [], id(self.gone): []}
        self.records = []
        while len(self.live) < devices:
            self.records += self._join(make_device(self.chance))
        places = [self._of_place() for _ in range(max(1, devices // 20))]
        self.records += places

    def next(self):
        """The records of a change."""
        kind = self.chance.random()
        if kind < 0.35:
            return self._join(make_device(self.chance))
        if kind < 0.55:
            return self._leave()
        if kind < 0.70:
            return self._again(self._any(self.gone))
        if kind < 0.75:
            # Who leaves and is back at once has joined again.
            left = self._leave()
            return left + self._again(left[0].key)
        if kind < 0.92:
            return self._refresh()
        if kind < 0.96:
            return [self._of_place()]
        # Changes nothing.
        return [Input(self._any(self.live), b'{"audience": 7}')]

    def _join(self, device):
        """Of a device to a channel, sometimes to two."""
        count = 2 if self.chance.random() < 0.1 else 1
        weights = [4, *[1] * (len(self.channels) - 1)]
        channels = set(self.chance.choices(self.channels, weights, k=count))
        records = [make_subscription(f"channel/{each}", device, self.chance, self.now) for each in sorted(channels)]
        for each in records:
            self._note(each, self.live, self.gone)
        return [self._rotated(each) for each in records]

    def _leave(self):
        key = self._any(self.live)
        self._note(Input(key, self.live[key]), self.gone, self.live)
        return [Input(key, None)]

    def _again(self, key):
        if key is None:
            return self._join(make_device(self.chance))
        record = Input(key, self.gone[key])
        self._note(record, self.live, self.gone)
        return [self._rotated(record)]

    def _refresh(self):
        """Of a device that is subscribed: it was seen now, often in another language."""
        key = self._any(self.live)
        seen = {"last_seen_at": iso(self.now), "locale": self.chance.choice(LOCALES)}
        self.live[key] = compact(json.loads(self.live[key]) | seen)
        return [self._rotated(Input(key, self.live[key]))]

    def _rotated(self, record):
        """The record, one in three with a header: its token takes the place of another one, unless the header is a bad one."""
        if self.rotations.random() < 2 / 3:
            return record
        since = self.rotations.choice((b"", b"-1", b"12 ", b"1e3", None)) if self.rotations.random() < 0.2 else b"%d" % self.now
        return record._replace(headers=(("since", since),))

    def _of_place(self):
        return make_subscription(f"place/{self.chance.randrange(99)}", make_device(self.chance), self.chance, self.now)

    def _note(self, record, into, out_of):
        out_of.pop(record.key, None)
        if record.key not in into:
            self.keys[id(into)].append(record.key)
        into[record.key] = record.value

    def _any(self, of):
        """A key of these; None where there is none."""
        keys = self.keys[id(of)]
        while of:
            at = self.chance.randrange(len(keys))
            if keys[at] in of:
                return keys[at]
            keys[at] = keys[-1]
            keys.pop()
        return None


def subscribed(channel, token, now, **members):
    """The record that subscribes a device to a channel by FCM, two in ten by an installation id."""
    audience = f"channel/{channel}"
    value = {"audience": audience, "token": token, "platform": "fcm", "app": "com.example.shop", "environment": "production"}
    if token.endswith(("3", "7")):
        value["address_kind"] = "installation_id"
    return Input(subscription_key(audience, token), compact(value | {"last_seen_at": iso(now)} | members))


def _with(**members):
    return lambda broadcast: broadcast | members


def _without(name):
    return lambda broadcast: {each: value for each, value in broadcast.items() if each != name}


def _shown(**members):
    """As a display broadcast that is right but for these members."""
    fields = [{"language": "en", "title": "Maintenance", "msg": "Back at noon."}]
    right = {"actiontype": "display", "notificationtype": "general", "fields": fields} | members
    kept = ("notificationid", "published_at", "expiry")
    return lambda broadcast: {name: broadcast[name] for name in kept} | right


# What is done to a right broadcast to make it a bad one.
BAD = {
    "no JSON": lambda broadcast: b"{",
    "no text": lambda broadcast: b'{"actiontype":"\xc3\x28"}',
    "an array": lambda broadcast: [],
    "no kind": _without("actiontype"),
    "another kind": _with(actiontype="show"),
    "no type": _without("notificationtype"),
    "no expiry": _without("expiry"),
    "seconds": _with(expiry=34646),
    "too long": _with(expiry="2419200001millis"),
    "another id": _with(notificationid="7"),
    "an unknown member": _with(colour="red"),
    "a place": _with(audience="place/7"),
    "both": _with(audience="channel/a", channel="a"),
    "a time that is none": _with(published_at="yesterday"),
    "no fields": _shown(fields=[]),
    "a language twice": _shown(fields=[{"language": each, "title": "a", "msg": "b"} for each in ("pt-BR", "PT_br")]),
    "a field without a title": _shown(fields=[{"language": "en", "msg": "b"}]),
    "http": _shown(poster="http://example.com/p.png"),
    "an unknown feature": _with(actiontype="non-display", notificationtype="general"),
    "too large": _shown(fields=[{"language": "en", "title": "a", "msg": "ü" * 2_100}]),
}
