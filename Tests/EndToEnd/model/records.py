"""The values that the rules speak of: records, what an event becomes, and the settings that decide it."""

import functools
import json
import re
import zoneinfo
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

# The form of a traceparent that goes on into pushes: version 00, lower case, no id of zeros.
TRACEPARENT = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


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
    def traceparent(self):
        """The first one that goes on, as text; None if there is none."""
        values = (value for name, value in self.headers if name == "traceparent" and value is not None)
        return next((value.decode() for value in values if TRACEPARENT.fullmatch(value)), None)

    @property
    def source(self):
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def own_headers(self):
        """Those that Carillon added when it was a dead letter or was put back: from the first mark on."""
        marks = (at for at, (name, value) in enumerate(self.headers) if name in ("x-error-code", "replay-of") and value)
        return self.headers[next(marks, len(self.headers)) :]


# The member of FCM's message that has the address, by what that is.
FCM_TARGETS = {"registration_token": "token", "installation_id": "fid"}


class Device(NamedTuple):
    token: str
    token_hash: str
    platform: str
    app: str
    environment: str
    last_seen: Optional[int]
    locale: Optional[str] = None
    # The one by which it was found.
    audience: Optional[str] = None
    # As its subscription says it.
    address_kind: Optional[str] = None

    @property
    def kind(self):
        """What its token is."""
        return self.address_kind or {"fcm": "registration_token", "apns": "apns_token"}[self.platform]

    @property
    def target(self):
        """The member of FCM's message that has its token."""
        return FCM_TARGETS[self.kind]


@dataclass
class Notification:
    """What an event or a timer says to the devices of its audiences."""

    message_id: str
    order_id: str
    place_id: str
    event_time: int
    payload: dict
    order_type: Optional[str]
    degraded: bool
    # In the order of the templates.
    audiences: list

    @functools.cached_property
    def default_string(self):
        """What document 1 sends: the payload as JSON text, in its order, compact."""
        return json.dumps({"data": self.payload}, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Outcome:
    """What becomes of an event: notifications; or none, and the reason; or a dead letter with one of the codes."""

    notifications: list = field(default_factory=list)
    suppressed: Optional[str] = None
    dead_letter: Optional[frozenset] = None


class Facts(NamedTuple):
    """What an event itself says about its order; a fallback is no fact."""

    event_type: str
    time: int
    order_id: Optional[str]
    place: Optional[str]
    identity: Optional[tuple]
    is_redriven: bool
    status: Optional[str]
    # A member that is absent leaves what is remembered as it is.
    members: dict


class Verdict(NamedTuple):
    """What is remembered of an order says about an event: why it is suppressed, if it is, and which status came before."""

    reason: Optional[str]
    previous_status: Optional[str]


@dataclass
class RequestSettings:
    """The settings that decide what is sent for a request."""

    ttl_seconds: int = 86_400
    # What becomes of an app notification of a type that nobody knows: `send` or `dead-letter`.
    unknown_types: str = "send"
    notification_count: bool = False
    ignore_valid_until: bool = False
    # What a request may name and reach; empty: everything.
    audiences: tuple = ()
    apps: tuple = ()
    # By the name of a type: its fixed pairs, and its expected keys.
    app_types: dict = field(default_factory=dict)


@dataclass
class Settings:
    """The settings of Carillon that decide what is sent."""

    time_zone: str = "UTC"
    place_time_zones: dict = field(default_factory=dict)
    ttl_seconds: int = 3600
    android_priority: str = "high"
    max_age_ms: int = 270 * 86_400_000
    schedule: bool = True
    horizon_seconds: int = 14 * 86_400
    retention_seconds: int = 86_400
    max_bytes: int = 128 << 20
    max_lateness_ms: int = 15 * 60_000
    spread_seconds: int = 0
    infer_status_changes: bool = False
    # The templates of audiences by event type; None: of all that have none of their own. Empty: the default.
    audiences: dict = field(default_factory=dict)
    # By key of `events.members`, the paths beside the known one.
    members: dict = field(default_factory=dict)
    # Event types beside document 1's, as `events.types` declares them.
    types: dict = field(default_factory=dict)
    # The templates of `display.templates`; without them order pushes are data only.
    display: Optional[dict] = None
    requests: RequestSettings = field(default_factory=RequestSettings)
    # Those of `dispatch.headers`.
    headers: frozenset = frozenset()

    def zone_of(self, place):
        return zoneinfo.ZoneInfo(self.place_time_zones.get(place, self.time_zone))


class DeadLetter(Exception):
    """The event becomes a dead letter with one of these codes: where several checks would fail, Carillon may name any of them."""

    def __init__(self, *codes):
        super().__init__(*codes)
        self.codes = frozenset(codes)
