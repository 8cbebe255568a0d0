"""An independent reading of what is remembered of orders, and of the timers that follow from it.

Written from the rules, not from Carillon's source: the state of the orders as a fold over the records of one partition, the
timers of an order as a function of that state and of a watermark. Times are milliseconds, unless a name says seconds.
"""

import datetime
import functools
import hashlib
import math
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from model.audiences import audiences_of
from model.messages import message_id
from model.records import Notification, Verdict

TERMINAL = ("cancelled", "failed", "completed", "collected")
UNPICKED = ("pending", "processing")
REMEMBERED_IDENTITIES = 8
# In bytes: longer texts are not remembered, nothing is of an order with a longer id, and an order counts as this and its id.
LONGEST_TEXT = 64
LONGEST_ID = 255
ORDER_BYTES = 480
TIMERS = 4
QUARTER_SECONDS = 900


class Watermark(NamedTuple):
    """Which timers have fired: all that are due at or before w, and of those that are due 1 ms later the ones whose order has
    a hash of at most p. Watermarks compare as pairs."""

    w: int
    # 16 hex digits, or empty.
    p: str = ""


class Timer(NamedTuple):
    due: int
    order_id: str
    number: int

    @property
    def watermark(self):
        """The watermark after this timer, while others that are due at the same time are left."""
        return Watermark(self.due - 1, stored_hash(self.order_id.encode()))


@functools.lru_cache(maxsize=1 << 16)
def stored_hash(key):
    """The hash of a key as it is stored: the first 8 bytes of its SHA-256."""
    return None if key is None else hashlib.sha256(key).hexdigest()[:16]


@dataclass
class _Order:
    # By name: the value, and the second of the record that set it.
    members: dict = field(default_factory=dict)
    # Newest first: the identity of an event, and the second at which it expires.
    identities: list = field(default_factory=list)
    # The event time of the latest end, and the second at which it expires.
    end: Optional[tuple] = None
    # The second at which the slot starts, and that of the record that set it; 0 for none.
    start: int = 0
    start_set: int = 0
    # The second until which it counts at most, from the last event on.
    until: int = 0

    @property
    def status(self):
        return self.members["status"][0] if "status" in self.members else None

    @property
    def is_terminal(self):
        return self.status is not None and self.status.lower() in TERMINAL


def instant(day, clock, zone):
    """The first second at which the clock of the zone shows at least this time of this day."""
    wall = datetime.datetime.fromisoformat(f"{day}T{clock}")
    first = wall.replace(tzinfo=zone, fold=0)
    seconds = int(first.timestamp())
    if datetime.datetime.fromtimestamp(seconds, zone).replace(tzinfo=None) == wall:
        return seconds
    # The clock skips this time: the moment of the change, between an instant that shows less and one that shows more.
    low, high = seconds - 86_400, seconds + 86_400
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.datetime.fromtimestamp(middle, zone).replace(tzinfo=None) < wall:
            low = middle
        else:
            high = middle
    return high


def spread_of(place, most):
    """By how many seconds, 0 to `most`, the timers of a place fire later: FNV-1a of 64 bits, its halves folded."""
    value = 0xCBF29CE484222325
    for byte in place.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return (value ^ value >> 32) % (most + 1)


def _is_remembered(facts):
    return facts.order_id is not None and len(facts.order_id.encode()) <= LONGEST_ID


class Orders:
    """The orders of one partition."""

    def __init__(self, settings):
        self.settings = settings
        self.newest = 0
        # Timers at or below it have fired, or never will.
        self.watermark = Watermark(0)
        self.out_of_order = 0
        # No timer is due before this.
        self.earliest = 0
        self._orders = {}
        self._now = 0
        self._latest = math.inf

    # -- The fold --

    def begin(self, timestamp, clock=None):
        """Is called for every record of the partition, whatever becomes of it. No record counts as more than an hour after
        the clock of its transaction."""
        self._now = 0
        self._latest = math.inf if clock is None else clock + 3_600_000
        if timestamp > 0:
            self._take(timestamp)

    def _take(self, timestamp):
        timestamp = min(timestamp, self._latest)
        self._now = max(1, timestamp // 1000)
        self.newest = max(self.newest, timestamp)

    def _lives(self, until):
        return until > self.newest // 1000

    def _alive(self, order, name):
        if name not in order.members:
            return False
        kept = self.settings.horizon_seconds
        if name in ("status", "time") and order.is_terminal:
            kept = self.settings.retention_seconds
        return self._lives(order.members[name][1] + kept)

    def consider(self, facts):
        if not self._now:
            self._take(max(facts.time, 1))
        previous, order = None, self._orders.get(facts.order_id) if _is_remembered(facts) else None
        if order is not None:
            known = any(who == facts.identity and self._lives(until) for who, until in order.identities)
            if facts.identity is not None and known and not facts.is_redriven:
                self._forget(order)
                self._note(order, facts)
                self._touch(order, facts)
                return Verdict("duplicate", None)
            if self._alive(order, "status"):
                previous = order.status
            if self._alive(order, "time") and facts.time < order.members["time"][0]:
                self.out_of_order += 1
        here = self.settings.schedule and facts.event_type in ("timeslot_started", "unpicked_orders_reminder")
        return Verdict("scheduled_here" if here else None, previous)

    def apply(self, facts):
        if not _is_remembered(facts):
            return
        order = self._orders.setdefault(facts.order_id, _Order())
        self._forget(order)
        is_over = order.end is not None and facts.time < order.end[0]
        self._note(order, facts)
        if not is_over:
            self._merge(order, facts)
        self._touch(order, facts)
        self._forget_beyond_limit()

    def _touch(self, order, facts):
        """The order is now the last to be forgotten."""
        ends = facts.status is not None and facts.status.lower() in TERMINAL
        is_only_end = ends and order.is_terminal and order.members.keys() <= {"time", "status"}
        kept = self.settings.retention_seconds if is_only_end else self.settings.horizon_seconds
        order.until = max(self._now, self.newest // 1000) + kept
        self._orders[facts.order_id] = self._orders.pop(facts.order_id)

    def _forget_beyond_limit(self):
        size = len(self._orders) * ORDER_BYTES
        if size + len(self._orders) * LONGEST_ID <= self.settings.max_bytes:
            return
        size += sum(len(each.encode()) for each in self._orders)
        # What does not count any more, then from the one that was touched longest ago.
        for order_id in sorted(self._orders, key=lambda each: self._lives(self._orders[each].until)):
            if size <= self.settings.max_bytes:
                break
            size -= ORDER_BYTES + len(order_id.encode())
            del self._orders[order_id]

    def _forget(self, order):
        order.members = {name: each for name, each in order.members.items() if self._alive(order, name)}
        order.identities = [each for each in order.identities if self._lives(each[1])]
        if order.end is not None and not self._lives(order.end[1]):
            order.end = None

    def _note(self, order, facts):
        """Remembers the identity of the event, and whether it ends the order, even where it is too late to be applied."""
        if facts.identity is not None:
            others = [each for each in order.identities if each[0] != facts.identity]
            first = (facts.identity, self._now + self.settings.horizon_seconds)
            order.identities = [first, *others][:REMEMBERED_IDENTITIES]
        if facts.status is not None and facts.status.lower() in TERMINAL:
            until = self._now + self.settings.retention_seconds
            order.end = (facts.time, until)
            order.identities = [(who, min(each, until)) for who, each in order.identities]

    def _merge(self, order, facts):
        now = self._now
        order.members["time"] = (facts.time, now)

        def say(name, value):
            order.members[name] = (value, now)
            if isinstance(value, str) and len(value.encode()) > LONGEST_TEXT:
                del order.members[name]

        if facts.status is not None:
            say("status", facts.status)
            if order.is_terminal:
                order.members = {name: order.members[name] for name in ("time", "status")}
                order.start = order.start_set = 0
                return
        if facts.place is not None:
            say("place", facts.place)
        if "slot" in facts.members:
            order.members.pop("slot_date", None)
        for name, value in facts.members.items():
            say(name, value)
        if self.settings.schedule:
            start = self._start(order)
            if start != order.start:
                order.start, order.start_set = start, now if start else 0
                self.earliest = min(self.earliest, start * 1000)

    def _date(self, order):
        return next((order.members[name][0] for name in ("date", "order_date", "slot_date") if name in order.members), None)

    def _start(self, order):
        date = self._date(order)
        if not {"slot", "place"} <= order.members.keys() or date is None:
            return 0
        start = instant(date, order.members["slot"][0][0], self.settings.zone_of(order.members["place"][0]))
        return start if start > 0 else 0

    # -- The timers --

    def due(self, after, until):
        """The timers between two watermarks, in the order in which they fire."""
        return sorted(
            (timer for timer in self._timers(after.w, until.w + (1 if until.p else 0)) if after < timer.watermark <= until),
            key=lambda timer: (timer.watermark, timer.order_id.encode(), timer.number),
        )

    def _timers(self, after, until):
        for order_id, order in self._orders.items():
            if not order.start:
                continue
            for number in range(TIMERS):
                seconds = order.start + number * QUARTER_SECONDS + self._spread(order)
                if after < seconds * 1000 <= until and seconds > order.start_set:
                    yield Timer(seconds * 1000, order_id, number)

    def _spread(self, order):
        most = self.settings.spread_seconds
        return spread_of(order.members["place"][0], most) if most else 0

    def next_due(self, until):
        """When the first timer after the watermark is due, if that is not after `until`."""
        if self.earliest > until:
            return None
        self.earliest = min((timer.due for timer in self._timers(self.watermark.w, 1 << 62)), default=1 << 62)
        return self.earliest if self.earliest <= until else None

    def decide(self, timer, until, clock):
        """(notification, None), or (None, why not); (None, None) where the members that it needs have expired.

        `until` is the time of the tick, `clock` that of its transaction.
        """
        order = self._orders[timer.order_id]
        date_name = next((name for name in ("date", "order_date", "slot_date") if name in order.members), None)
        if not all(self._alive(order, name) for name in ("slot", "place", date_name)):
            return None, None
        if clock - timer.due > self.settings.max_lateness_ms:
            return None, "too_late"
        if timer.number > 0:
            if not self._alive(order, "status") or order.status.lower() not in UNPICKED:
                return None, "picked"
            if timer.number + 1 < TIMERS and timer.due + QUARTER_SECONDS * 1000 <= until:
                return None, "superseded"
        return self._notification(timer, order), None

    def _notification(self, timer, order):
        def member(name, otherwise=None):
            return order.members[name][0] if self._alive(order, name) else otherwise

        date, (start, end) = self._date(order), order.members["slot"][0]
        wire_type = "event_timeslot_started" if timer.number == 0 else "event_unpicked_orders_reminder"
        # Without the spread: a changed spread makes no second notification of it.
        nominal = timer.due - self._spread(order) * 1000
        identity = message_id("timer", [timer.order_id, date, start, str(timer.number)], wire_type, timer.order_id, nominal)
        payload = {
            "message_id": identity,
            "order_id": timer.order_id,
            "parent_order_id": member("parent_id", timer.order_id),
            "visible_id": member("visible_id", timer.order_id),
            "event_type": wire_type,
            "delivery_date": date,
            "start_time": start,
            "end_time": end,
            "place_id": member("place"),
        }
        place = payload["place_id"]
        audiences = audiences_of(wire_type.removeprefix("event_"), {}, place, self.settings)
        return Notification(identity, timer.order_id, place, timer.due, payload, member("order_type"), False, audiences)
