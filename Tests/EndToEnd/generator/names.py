"""Seeded names: a mapping for `events.members`, and events whose members have its names."""

import json
import random

from generator.inputs import compact
from model.values import child, text

BODY = (
    *("order", "orders", "order_ids", "event_type", "event_id", "occurred_at", "place_id", "new_status", "previous_status"),
    *("slot", "start_time", "end_time", "delivery_date"),
)
ORDER = (
    *("id", "status", "type", "order_number", "reference_id", "parent_order_id", "place_id", "order_type", "order_date"),
    *("shipping_info.place_id", "shipping_info.slot.start_time", "shipping_info.slot.end_time", "shipping_info.slot.date"),
    *("shipping_info.slot.delivery_date", "shipping_info.pickup_details.time_slot"),
    *("metadata.delivery_slot_start", "metadata.delivery_slot_end"),
)
# What is no text, no time, no date and no slot.
INVALID = (None, "", " ", True, [], {})


CONTAINERS = ("order", "orders", "order_ids", "slot")


class Names:
    """A mapping of one or two paths for most members."""

    def __init__(self, seed):
        self.chance = random.Random(f"names {seed}")
        keys = [*BODY, *(f"order.{each}" for each in ORDER)]
        # Within the limit of 64 paths.
        self.mapping = {key: self._paths(key, at) for at, key in enumerate(keys) if self.chance.random() < 0.8}

    def _paths(self, key, at):
        before = ("", "", "shop.", "shop.inner.", "Größe.")
        if key.startswith("order."):
            before += ("shipping_info.", "metadata.", "place.", "customer.", "shipping_info.slot.")
        name = f"{key.rpartition('.')[2]}{at}"
        marks = self.chance.sample(("X", " y", "_zz"), self.chance.choice((1, 2)))
        return [f"{self.chance.choice(before)}{name}{mark}" for mark in marks]

    def rename(self, each):
        """The event under other names, which means the same; as it is where it has no usual form."""
        try:
            value = json.loads(each.value)
            if compact(value) != each.value:
                return each
        except (RecursionError, TypeError, ValueError):
            return each
        return each._replace(value=compact(self._renamed(value)))

    def _renamed(self, value):
        """A body, or what it is wrapped in."""
        if isinstance(value, str) and value.startswith("{"):
            return compact(self._renamed(json.loads(value))).decode()
        if not isinstance(value, dict):
            return value
        for inner, beside in (("payload", "schema"), ("data", "specversion")):
            if inner in value and beside in value:
                return value | {inner: self._renamed(value[inner])}
        is_event = any(name in value for name in ("order", "orders", "order_ids"))
        orders = value.get("orders") if isinstance(value.get("orders"), list) else []
        for order in [value.get("order"), *orders] if is_event else [value]:
            if isinstance(order, dict):
                for key in ORDER:
                    self._move(order, key, f"order.{key}")
        for key in BODY:
            self._move(value, key, key)
        return value

    def _move(self, whole, known, key):
        """Puts a value where one of its other names leads; what is invalid, or comes too late, may be under the rest."""
        *way, last = known.split(".")
        holder, paths = child(whole, *way), self.mapping.get(key)
        if paths is None or not isinstance(holder, dict) or last not in holder or self.chance.random() < 0.1:
            return
        value = holder[last]
        if last in ("id", "order_number", "status", "place_id") and text(value) and self.chance.random() < 0.1:
            _put(whole, paths[-1], "too late")
            return
        invalid = (None,) if key in CONTAINERS else INVALID
        if self.chance.random() < 0.2:
            holder[last] = self.chance.choice(invalid)
        else:
            del holder[last]
        if len(paths) == 2 and self.chance.random() < 0.2:
            _put(whole, paths[0], self.chance.choice(invalid))
        _put(whole, paths[-1] if len(paths) == 2 and self.chance.random() < 0.5 else paths[0], value)


def _put(whole, path, value):
    *way, last = path.split(".")
    for name in way:
        whole = whole.setdefault(name, {})
    whole[last] = value
