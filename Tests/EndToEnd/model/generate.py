"""Seeded, realistic input: order events in every shape that the documents know, subscriptions, and poison."""

import datetime
import hashlib
import json
import random
import string
import uuid
import zoneinfo
from typing import NamedTuple, Optional

BASE_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z: the month in which Europe's clocks change
DAY_MS = 86_400_000
STATUSES = ("pending", "processing", "picking", "picked", "retrieving", "shipped", "collected", "completed")
PRODUCTS = ("Crème fraîche 200 g", "Brot, dunkel", "Æbler 1 kg", 'Olive oil "extra"', "牛乳", "Oat milk 1 l", "Eggs ×12")
TOKEN_ALPHABET = string.ascii_letters + string.digits + "-_"


class Input(NamedTuple):
    key: Optional[bytes]
    value: Optional[bytes]
    headers: tuple = ()


def iso(milliseconds, suffix="Z"):
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}" + suffix


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def make_subscriptions(seed, places=2000, crowd=200):
    """Places and the records that subscribe their devices; the first place has `crowd` devices, some have none."""
    chance = random.Random(f"subscriptions {seed}")
    names, records, shared = [], [], []
    for index in range(places):
        place = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        names.append(place)
        count = crowd if index == 0 else chance.choices(range(6), (10, 25, 25, 20, 10, 10))[0]
        for _ in range(count):
            # One device in twenty is subscribed to several places.
            if shared and chance.random() < 0.05:
                device = chance.choice(shared)
            else:
                device = _device(chance)
                shared.append(device)
            records.append(_subscription(place, device, chance))
        if count and chance.random() < 0.05:
            gone = _subscription(place, _device(chance), chance)
            records += [gone, Input(gone.key, None)]
    broken = _subscription(names[1], _device(chance), chance)
    records.append(Input(broken.key, b'{"audience": "pl'))
    records.append(Input(b"place/|nothing", b"[]"))
    return names, records


def _device(chance):
    if chance.random() < 0.2:
        token = f"{chance.getrandbits(256):064x}"
        return token, "apns", "com.example.courier", chance.choice(("production", "development"))
    token = "device-" + "".join(chance.choices(TOKEN_ALPHABET, k=145))
    return token, "fcm", "com.example.shop", "production"


def _subscription(place, device, chance):
    token, platform, app, environment = device
    audience = f"place/{place}"
    # One in thirty was last seen too long ago to be sent to.
    seen = BASE_MS - chance.randrange(300, 400) * DAY_MS if chance.random() < 1 / 30 else BASE_MS - chance.randrange(DAY_MS)
    value = {
        "audience": audience,
        "token": token,
        "platform": platform,
        "app": app,
        "environment": environment,
        "locale": chance.choice(("de-DE", "en-GB", "da-DK")),
        "registered_at": iso(seen - 30 * DAY_MS),
        "last_seen_at": iso(seen),
    }
    return Input(f"{audience}|{hashlib.sha256(token.encode()).hexdigest()}".encode(), compact(value))


class SubscriptionChanges:
    """Devices that come, go, come back and change, after those of `make_subscriptions`."""

    def __init__(self, seed, places, subscriptions):
        self.chance = random.Random(f"changes {seed}")
        self.places = places
        self.live, self.gone = {}, {}
        for each in subscriptions:
            self._note(each)
        self.live = {key: value for key, value in self.live.items() if value.endswith(b"}")}

    def next(self):
        kind = self.chance.random()
        if kind < 0.40 and self.live:
            change = Input(self._any(self.live), None)
        elif kind < 0.55 and self.gone:
            key = self._any(self.gone)
            change = Input(key, self.gone[key])
        elif kind < 0.65 and self.live:
            key = self._any(self.live)
            change = Input(key, compact(json.loads(self.live[key]) | {"app": f"com.example.app{self.chance.randrange(9)}"}))
        elif kind < 0.66:
            # Changes nothing: the table keeps what it has.
            return Input(self._any(self.live or self.gone), b'{"audience": 7}')
        else:
            # One in ten is for the place with the many devices.
            place = self.places[0] if self.chance.random() < 0.1 else self.chance.choice(self.places)
            change = _subscription(place, _device(self.chance), self.chance)
        self._note(change)
        return change

    def _note(self, change):
        if change.value is None:
            self.gone[change.key] = self.live.pop(change.key)
        else:
            self.live[change.key] = change.value
            self.gone.pop(change.key, None)

    def _any(self, keys):
        return self.chance.choice(list(keys))


class Events:
    """Events of many orders, interleaved; `poison_rate` of them are records that cannot be processed.

    With `slots_from`, half of the orders have a slot that starts in one of the three minutes after that time, or a quarter
    of an hour, two or three before them, so that timers are due while the test runs; places are in the zone `slots_zone`.
    `snapshot_rate` of the changes of an order say no type: they are the order as it stands.
    """

    def __init__(self, seed, places, poison_rate=0.001, slots_from=None, slots_zone="UTC", snapshot_rate=0):
        self.chance = random.Random(f"events {seed}")
        self.places = places
        self.poison_rate, self.snapshot_rate = poison_rate, snapshot_rate
        self.now = BASE_MS + 8 * 3_600_000
        self.active = []
        self.made = 0
        self.poisons = list(POISONS)
        self.slots_from, self.slots_zone = slots_from, zoneinfo.ZoneInfo(slots_zone)
        # What came before, to come once more; orders that are done, to be spoken of too late.
        self.past, self.ended = [], []

    def __iter__(self):
        while True:
            yield self.next()

    def next(self):
        self.made += 1
        self.now += self.chance.randrange(1, 80_000)
        if self.past and self.chance.random() < 0.02:
            return self.chance.choice(self.past)
        each = self._next()
        if self.chance.random() < 0.3:
            self.past = [*self.past[-199:], each]
        return each

    def _next(self):
        # Every kind of poison comes by in turn, so that a run of any length meets as many kinds as it can.
        if self.chance.random() < self.poison_rate:
            kind = self.poisons.pop(0)
            self.poisons.append(kind)
            return POISONS[kind](self)
        if self.chance.random() < 0.01:
            return self._listed()
        if len(self.active) < 200 or self.chance.random() < 0.25:
            order = self.new_order()
            if len(self.active) < 400:
                self.active.append([order, 0])
            return self._wrap("ORDER_CREATED", order, {})
        if self.ended and self.chance.random() < 0.02:
            order = self.chance.choice(self.ended) | {"status": self.chance.choice(STATUSES[:4])}
            return self._wrap("ORDER_STATUS_CHANGED", order, {}, late=0.7)
        # The oldest one has many events in a short time: more than are remembered of an order.
        index = 0 if self.chance.random() < 0.2 else self.chance.randrange(len(self.active))
        order, step = self.active[index]
        kind = self.chance.random()
        if kind < 0.08:
            return self._wrap("TIMESLOT_STARTED", order, {})
        if kind < 0.16:
            return self._wrap("UNPICKED_ORDERS_REMINDER", order, {})
        if kind < 0.19:
            return self._wrap("ORDER_STATUS_CHANGED", order, {"previous_status": order["status"]})
        if kind < 0.21:
            return self._wrap("ORDER_STATUS_CHANGED", order, {})
        if kind < 0.25:
            self._slot(order)
        if step + 1 == len(STATUSES) or kind > 0.97:
            self.active.pop(index)
            previous, order["status"] = order["status"], self.chance.choice(("cancelled", "FAILED", "on_hold"))
            self.ended = [*self.ended[-9:], order]
        else:
            self.active[index][1] += 1
            previous, order["status"] = order["status"], STATUSES[step + 1]
        if self.chance.random() < self.snapshot_rate:
            # Most say nothing new.
            return self._snapshot(order if self.chance.random() < 0.5 else order | {"status": previous})
        # What the event does not say, the order's past does.
        extra = {"previous_status": previous} if self.chance.random() < 0.6 else {}
        if self.chance.random() < 0.5:
            extra["new_status"] = order["status"]
        return self._wrap("ORDER_STATUS_CHANGED", order if self.chance.random() < 0.7 else self._excerpt(order), extra)

    def _snapshot(self, order):
        key, form = str(order["id"] or order.get("order_number") or "").encode() or None, self.chance.randrange(3)
        if form == 0:
            return Input(key, compact(order))
        event = {"event_id": self.uuid(), "occurred_at": iso(self.now), "order": order}
        return Input(key, compact(event if form == 1 else event | {"event_type": None}))

    def _excerpt(self, order):
        """An order without what has not changed, but for its place."""
        kept = {name: order[name] for name in ("id", "order_number", "status", "place_id", "place") if name in order}
        if place := order["shipping_info"].get("place_id"):
            kept["shipping_info"] = {"place_id": place}
        return kept

    def uuid(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def place(self):
        # One event in five hundred is for the place with the many devices.
        return self.places[0] if self.chance.random() < 0.002 else self.chance.choice(self.places[1:])

    def new_order(self):
        chance = self.chance
        number = f"ORDER-{iso(self.now)[:10].replace('-', '')}-{chance.randrange(1, 100_000)}"
        order = {
            "id": self.uuid(),
            "order_number": number,
            "reference_id": f"REF-{chance.randrange(10**9)}",
            "status": "pending",
            "order_date": iso(self.now)[:10],
            "currency": "EUR",
            "total": chance.randrange(100, 20_000) / 100,
            "customer": {
                "name": chance.choice(("Zoë Ñuñez", "Jürgen Groß", "O'Hara \\ Söhne", "李雷")),
                "phone": f"+49 30 {chance.randrange(10**7)}",
            },
            "items": [
                {"sku": f"SKU-{chance.randrange(10**6)}", "name": chance.choice(PRODUCTS), "quantity": chance.randrange(1, 9)}
                for _ in range(chance.randrange(2, 5))
            ],
            "shipping_info": {},
            "metadata": {"channel": chance.choice(("web", "app", "phone")), "note": None},
        }
        if chance.random() < 0.1:
            order["parent_order_id"] = self.uuid()
        if chance.random() < 0.05:
            del order["order_number"]
        elif chance.random() < 0.02:
            order["id"] = None
        elif chance.random() < 0.02:
            order["id"] = chance.randrange(10**15, 10**17)
        if chance.random() < 0.2:
            order[chance.choice(("order_type", "type"))] = chance.choice(("food", "D2D", "parcel"))
        where = chance.random()
        if where < 0.6:
            order["place_id"] = self.place()
        elif where < 0.8:
            order["place"] = {"id": self.place(), "name": "Lager Süd"}
        else:
            order["shipping_info"]["place_id"] = self.place()
        self._slot(order)
        return order

    def _slot(self, order):
        chance = self.chance
        if self.slots_from is not None and chance.random() < 0.5:
            order["shipping_info"].pop("pickup_details", None)
            return self._slot_soon(order)
        hour = chance.randrange(7, 20)
        day = iso(self.now + chance.randrange(3) * DAY_MS)[:10]
        source = chance.random()
        if source < 0.5:
            order["shipping_info"]["slot"] = {
                "date": chance.choice((day, day, f"{day}T00:00:00", "not a date")),
                "start_time": chance.choice(
                    (f"{hour:02}:00", f"{hour}:30", f"{(hour - 1) % 12 + 1}:00 PM", f"{day}T{hour:02}:00:00Z")
                ),
                "end_time": chance.choice((f"{hour + 2:02}:00", "24:00", None, "25:99", f"{day} {hour + 2:02}:15")),
            }
        elif source < 0.75:
            order["metadata"]["delivery_slot_start"] = chance.choice(
                (f"{day}T{hour:02}:00:00.000+0000", f"{day}T23:30:00+00:00", f"{day}T{hour:02}:15:00.000-0500")
            )
            order["metadata"]["delivery_slot_end"] = f"{day}T{hour + 2:02}:00:00.000Z"
        elif source < 0.9:
            order["shipping_info"]["pickup_details"] = {
                "time_slot": chance.choice(
                    (
                        f"{hour:02}:00-{hour + 1:02}:00",
                        "2-4 PM",
                        "10 AM to 12 PM",
                        {"start": "9:00", "end": "11:00"},
                        ["13:00", "15:00"],
                    )
                )
            }
            order["shipping_info"]["slot"] = {"delivery_date": day}

    def _slot_soon(self, order):
        chance = self.chance
        start = self.slots_from + (chance.randrange(1, 4) - 15 * chance.randrange(4)) * 60_000
        if chance.random() < 0.3:
            order["shipping_info"].pop("slot", None)
            order["metadata"]["delivery_slot_start"] = iso(start // 60_000 * 60_000)
            order["metadata"]["delivery_slot_end"] = None
            return
        wall = datetime.datetime.fromtimestamp(start // 1000, self.slots_zone)
        order["shipping_info"]["slot"] = {"date": f"{wall:%Y-%m-%d}", "start_time": f"{wall:%H:%M}", "end_time": "23:45"}

    def _wrap(self, event_type, order, extra, late=0.02):
        """`late` of them have happened before the one that came last; where most do, long before."""
        now = self.now
        if self.chance.random() < late:
            self.now -= self.chance.randrange(7_200_000 if late < 0.5 else 72_000_000)
        try:
            return self._wrapped(event_type, order, extra)
        finally:
            self.now = now

    def _wrapped(self, event_type, order, extra):
        chance = self.chance
        key = str(order["id"] or order.get("order_number") or "").encode() or None
        envelope = chance.random()
        if envelope < 0.7:
            event = {"event_id": self.uuid(), "event_type": event_type, "occurred_at": iso(self.now), "order": order} | extra
            spelling = chance.random()
            if spelling < 0.1:
                event["event_type"] = "event_" + event_type.lower()
            elif spelling < 0.2:
                event["event_type"] = event_type.lower().replace("_", ".") + ".v1"
            if chance.random() < 0.05:
                del event["event_id"]
            if chance.random() < 0.05:
                del event["occurred_at"]
            elif chance.random() < 0.05:
                event["occurred_at"] = self.now
            headers = ()
            if chance.random() < 0.02:
                trace = f"00-{chance.getrandbits(128):032x}-{chance.getrandbits(64):016x}-01"
                headers = (("traceparent", trace.encode()),)
            value = compact(event)
            if chance.random() < 0.02:
                value = b"\0" + (17).to_bytes(4, "big") + value
            return Input(key, value, headers)
        dotted = "com.example." + event_type.lower().replace("_", ".") + ".v1"
        if envelope < 0.8:
            return Input(
                key,
                compact({"order": order} | extra),
                (
                    ("ce_specversion", b"1.0"),
                    ("ce_id", self.uuid().encode()),
                    ("ce_source", b"/orders/uos"),
                    ("ce_type", dotted.encode()),
                    ("ce_time", iso(self.now).encode()),
                    ("content-type", b"application/json"),
                ),
            )
        if envelope < 0.9:
            event = {
                "specversion": "1.0",
                "id": self.uuid(),
                "source": "/orders/uos",
                "type": dotted,
                "time": iso(self.now),
                "datacontenttype": "application/json",
                "data": {"order": order} | extra,
            }
            return Input(key, compact(event), (("content-type", b"application/cloudevents+json; charset=UTF-8"),))
        body = {"order": order, "occurred_at": iso(self.now)} | extra
        form = chance.randrange(3)
        value = compact(body)
        if form == 1:
            value = compact(value.decode())
        elif form == 2:
            value = compact({"schema": {"type": "string", "optional": False}, "payload": body})
        return Input(key, value, (("id", self.uuid().encode()), ("eventType", event_type.encode())))

    def _listed(self):
        place = self.place()
        event = {"event_id": self.uuid(), "event_type": "ORDER_IDS_LISTED", "occurred_at": iso(self.now), "place_id": place}
        form = self.chance.randrange(4)
        if form == 0:
            event["order_ids"] = [self.uuid() for _ in range(self.chance.randrange(1, 6))] + [4711]
            event["order_ids"].append(event["order_ids"][0])
        elif form == 1:
            event["orders"] = [self.new_order() for _ in range(self.chance.randrange(1, 4))]
        elif form == 2:
            event["order"] = self.new_order()
        else:
            event["order_ids"] = []
        return Input(place.encode(), compact(event))


# -- Poison ---------------------------------------------------------------------------------------


def _native(events, **changes):
    event = {
        "event_id": events.uuid(),
        "event_type": "ORDER_CREATED",
        "occurred_at": iso(events.now),
        "order": {"id": events.uuid(), "place_id": events.place()},
    }
    event |= changes
    return {name: value for name, value in event.items() if value is not ...}


def _key(events):
    return events.chance.choice((events.uuid().encode(), None, b"\xff\x00key", b""))


_ODD_HEADERS = (("x-binary", b"\xff\x00\xfe"), ("x-null", None), ("x-empty", b""), ("x-twice", b"1"), ("x-twice", b"2"))

POISONS = {
    "bad UTF-8": lambda e: Input(_key(e), compact(_native(e)).replace(b"ORDER_CREATED", b"ORDER_\xc3\x28CREATED"), _ODD_HEADERS),
    "too deep": lambda e: Input(_key(e), b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
    "too large": lambda e: Input(_key(e), compact(_native(e, note="x" * 1_150_000)), _ODD_HEADERS),
    "40-digit number": lambda e: Input(_key(e), compact(_native(e, total=int("9" * 40)))),
    "1e400": lambda e: Input(_key(e), compact(_native(e)).replace(b'"place_id"', b'"total":1e400,"place_id"')),
    "null value": lambda e: Input(e.uuid().encode(), None, _ODD_HEADERS),
    "no JSON": lambda e: Input(_key(e), b'{"event_type": "ORDER_CREATED", '),
    "an array": lambda e: Input(_key(e), b"[1,2,3]", (("eventType", b"ORDER_CREATED"),)),
    "empty value": lambda e: Input(_key(e), b""),
    "unknown type": lambda e: Input(_key(e), compact(_native(e, event_type="ORDER_TELEPORTED"))),
    "no place": lambda e: Input(_key(e), compact(_native(e, order={"id": e.uuid()}))),
    "no status": lambda e: Input(_key(e), compact(_native(e, event_type="ORDER_STATUS_CHANGED"))),
    "too large a payload": lambda e: Input(_key(e), compact(_native(e, order={"id": "x" * 4_000, "place_id": e.places[0]}))),
}
