"""Whom an event about an order notifies, by the templates of docs/rules.md, section 5.4."""

import re

from model.records import DeadLetter
from model.values import child, text

PLACE = "place/{place_id}"
# For the staff, whatever is set for all types.
OF_TIMERS = ("timeslot_started", "unpicked_orders_reminder")
MAX_BYTES, MAX_AUDIENCES = 1_024, 1_000


def templates_of(event_type, settings):
    standard = [PLACE] if event_type in OF_TIMERS else settings.audiences.get(None, [PLACE])
    if event_type in settings.types:
        return settings.types[event_type].get("audiences", standard)
    return settings.audiences.get(event_type, standard)


def needs_place(event_type, settings):
    return all(each.endswith("/{place_id}") for each in templates_of(event_type, settings))


def audiences_of(event_type, order, place, settings):
    """The audiences in their order; a dead letter where there is none, or too many. Only the place's are not checked."""
    templates = templates_of(event_type, settings)
    if templates == [PLACE]:
        return [f"place/{place}"]
    found = []
    for template in templates:
        kind, path = re.fullmatch(r"(\w+)/\{(.*)\}", template).groups()
        ids = [place] if path == "place_id" else map(text, _values(order, path))
        found += [f"{kind}/{each}" for each in ids if each and _is_audience(kind, each)]
        if len(found) > MAX_AUDIENCES:
            raise DeadLetter("too_many_audiences")
    if not found:
        raise DeadLetter("no_audience")
    return found


def _values(order, path):
    before, is_list, after = path.partition("[*]")
    if not is_list:
        return [child(order, *path.split("."))]
    elements = child(order, *before.split("."))
    names = after.split(".")[1:]
    return [child(each, *names) for each in elements] if isinstance(elements, list) else []


def _is_audience(kind, name):
    if len(f"{kind}/{name}".encode()) > MAX_BYTES or re.search("[\x00-\x1f\x7f]", name):
        return False
    return kind != "device" or re.fullmatch("[0-9a-f]{64}", name) is not None
