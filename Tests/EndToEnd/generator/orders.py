"""Seeded orders. `source` is the `Events` that draws the numbers and has the time."""

import datetime
import zoneinfo

from generator.inputs import DAY_MS, iso

PRODUCTS = ("Crème fraîche 200 g", "Brot, dunkel", "Æbler 1 kg", 'Olive oil "extra"', "牛乳", "Oat milk 1 l", "Eggs ×12")


def new_order(source):
    """An order as it is created, with the gaps and oddities that orders have."""
    chance = source.chance
    number = f"ORDER-{iso(source.now)[:10].replace('-', '')}-{chance.randrange(1, 100_000)}"
    order = {
        "id": source.uuid(),
        "order_number": number,
        "reference_id": f"REF-{chance.randrange(10**9)}",
        "status": "pending",
        "order_date": iso(source.now)[:10],
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
        order["parent_order_id"] = source.uuid()
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
        order["place_id"] = source.place()
    elif where < 0.8:
        order["place"] = {"id": source.place(), "name": "Lager Süd"}
    else:
        order["shipping_info"]["place_id"] = source.place()
    set_slot(source, order)
    return order


def excerpt(order):
    """An order reduced to what has changed, and its place."""
    kept = {name: order[name] for name in ("id", "order_number", "status", "place_id", "place") if name in order}
    if place := order["shipping_info"].get("place_id"):
        kept["shipping_info"] = {"place_id": place}
    return kept


def set_slot(source, order):
    """Gives the order another slot, in one of the places where producers write it, or none."""
    chance = source.chance
    if source.mix.slots_from is not None and chance.random() < 0.5:
        order["shipping_info"].pop("pickup_details", None)
        _set_slot_soon(source, order)
        return
    hour = chance.randrange(7, 20)
    day = iso(source.now + chance.randrange(3) * DAY_MS)[:10]
    kind = chance.random()
    if kind < 0.5:
        order["shipping_info"]["slot"] = {
            "date": chance.choice((day, day, f"{day}T00:00:00", "not a date")),
            "start_time": chance.choice((f"{hour:02}:00", f"{hour}:30", f"{(hour - 1) % 12 + 1}:00 PM", f"{day}T{hour:02}:00:00Z")),
            "end_time": chance.choice((f"{hour + 2:02}:00", "24:00", None, "25:99", f"{day} {hour + 2:02}:15")),
        }
    elif kind < 0.75:
        order["metadata"]["delivery_slot_start"] = chance.choice(
            (f"{day}T{hour:02}:00:00.000+0000", f"{day}T23:30:00+00:00", f"{day}T{hour:02}:15:00.000-0500")
        )
        order["metadata"]["delivery_slot_end"] = f"{day}T{hour + 2:02}:00:00.000Z"
    elif kind < 0.9:
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


def _set_slot_soon(source, order):
    """A slot with timers that are due while the test runs."""
    chance = source.chance
    start = source.mix.slots_from + (chance.randrange(1, 4) - 15 * chance.randrange(4)) * 60_000
    if chance.random() < 0.3:
        order["shipping_info"].pop("slot", None)
        order["metadata"]["delivery_slot_start"] = iso(start // 60_000 * 60_000)
        order["metadata"]["delivery_slot_end"] = None
        return
    wall = datetime.datetime.fromtimestamp(start // 1000, zoneinfo.ZoneInfo(source.mix.slots_zone))
    order["shipping_info"]["slot"] = {"date": f"{wall:%Y-%m-%d}", "start_time": f"{wall:%H:%M}", "end_time": "23:45"}
