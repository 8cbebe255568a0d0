"""Seeded, realistic events: in every shape that the documents know, and poison among them."""

import random
import uuid
from dataclasses import dataclass
from typing import Optional

from generator.envelopes import listed, snapshot, wrapped
from generator.inputs import BASE_MS
from generator.orders import excerpt, new_order, set_slot
from generator.poison import POISONS

STATUSES = ("pending", "processing", "picking", "picked", "retrieving", "shipped", "collected", "completed")


@dataclass
class Mix:
    """What is among the events."""

    # The share of records that cannot be processed.
    poison_rate: float = 0.001
    # One happens at most so many milliseconds after the other.
    longest_step: int = 80_000
    # The share of the changes of status that name no event type: they are the order as it stands.
    snapshot_rate: float = 0
    # If set, half of the orders have a slot that starts in one of the three minutes after this time, or one to three quarters of
    # an hour before them, so that timers are due while a test runs. Places are in the zone.
    slots_from: Optional[int] = None
    slots_zone: str = "UTC"
    # Names of event types that the settings may declare, among which one event in ten is.
    own_types: tuple = ()


class Events:
    """Events of many orders, interleaved."""

    def __init__(self, seed, places, mix=None):
        self.chance = random.Random(f"events {seed}")
        self.places, self.mix = places, mix or Mix()
        self.now = BASE_MS + 8 * 3_600_000
        self.active = []
        self.poisons = list(POISONS)
        # Events that may be sent again, and orders that have ended, of which late events may tell.
        self.past, self.ended = [], []

    def next(self):
        self.now += self.chance.randrange(1, self.mix.longest_step)
        if self.past and self.chance.random() < 0.02:
            return self.chance.choice(self.past)
        each = self._next()
        if self.chance.random() < 0.3:
            self.past = [*self.past[-199:], each]
        return each

    def _next(self):
        # Every kind of poison has its turn, so that a run of any length meets as many kinds as it can.
        if self.chance.random() < self.mix.poison_rate:
            kind = self.poisons.pop(0)
            self.poisons.append(kind)
            return POISONS[kind](self)
        if self.chance.random() < 0.01:
            return listed(self)
        if self.mix.own_types and self.active and self.chance.random() < 0.1:
            return self._own()
        if len(self.active) < 200 or self.chance.random() < 0.25:
            order = new_order(self)
            if len(self.active) < 400:
                self.active.append([order, 0])
            return self._wrap("ORDER_CREATED", order, {})
        if self.ended and self.chance.random() < 0.02:
            order = self.chance.choice(self.ended) | {"status": self.chance.choice(STATUSES[:4])}
            return self._wrap("ORDER_STATUS_CHANGED", order, {}, late=0.7)
        # The oldest order has many events in a short time: more than are remembered of an order.
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
            set_slot(self, order)
        if step + 1 == len(STATUSES) or kind > 0.97:
            self.active.pop(index)
            previous, order["status"] = order["status"], self.chance.choice(("cancelled", "FAILED", "on_hold"))
            self.ended = [*self.ended[-9:], order]
        else:
            self.active[index][1] += 1
            previous, order["status"] = order["status"], STATUSES[step + 1]
        if self.chance.random() < self.mix.snapshot_rate:
            # Half of them tell of no change.
            return snapshot(self, order if self.chance.random() < 0.5 else order | {"status": previous})
        # Where the event does not name the previous status, the order's past does.
        extra = {"previous_status": previous} if self.chance.random() < 0.6 else {}
        if self.chance.random() < 0.5:
            extra["new_status"] = order["status"]
        return self._wrap("ORDER_STATUS_CHANGED", order if self.chance.random() < 0.7 else excerpt(order), extra)

    def _own(self):
        """An event of a type that document 1 does not have. It tells of a new slot, of another status, or of no order."""
        chance, order = self.chance, self.chance.choice(self.active)[0]
        if chance.random() < 0.3:
            set_slot(self, order)
        if chance.random() < 0.3:
            order["status"] = chance.choice((*STATUSES[:4], "delayed"))
        minutes, reason = chance.choice((5, 17.50, "40", None, True, [1])), chance.choice((' "Snow" \\', "é" * 700, "x" * 300, " "))
        own = order | {"delay_minutes": minutes, "delay": {"reason": reason}, "a-b": chance.choice((1, "\u0007"))}
        if chance.random() < 0.2:
            own |= {"id": None, "order_number": None}
        return self._wrap(chance.choice(self.mix.own_types), own, {})

    def uuid(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def place(self):
        # One event in five hundred is for the place with the many devices.
        return self.places[0] if self.chance.random() < 0.002 else self.chance.choice(self.places[1:])

    def _wrap(self, event_type, order, extra, late=0.02):
        """The share `late` of the events happened before the one that came last; where most did, long before."""
        now = self.now
        if self.chance.random() < late:
            self.now -= self.chance.randrange(7_200_000 if late < 0.5 else 72_000_000)
        try:
            return wrapped(self, event_type, order, extra)
        finally:
            self.now = now
