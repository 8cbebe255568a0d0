"""An independent reading of the rules: what one record of orders.events must become.

Written from the documents, not from Carillon's source, and in another language, so that the two can be compared. The
section numbers are those of docs/rules.md. This module has the rules themselves: which source of a field counts
(section 5.3), and who is notified of what. `envelope` opens the record, `values` reads its values, `messages` renders
what is sent.
"""

from model.audiences import audiences_of, needs_place
from model.envelope import Event, open_envelope
from model.messages import MAX_PAYLOAD_BYTES, message_id
from model.names import container, options
from model.own_types import keeps_state, members_of, needs_order
from model.records import DeadLetter, Facts, Notification, Outcome
from model.values import child, first_text, local, parse_date, parse_time, parse_time_slot, text

FIRST_MINUTE, LAST_MINUTE = "00:00", "23:59"
SALESFORCE = ("metadata.delivery_slot_start", "metadata.delivery_slot_end")


def outcome_of(record, settings, state=None, clock=None):
    """What one record must become, before it is known who gets it.

    `state` is what is remembered of the orders of the record's partition (`orders.Orders`); it takes the event in.
    Without it the event stands for itself. `clock` is that of the transaction that processed it, if it is known.
    """
    if state is not None:
        state.begin(record.timestamp, clock)
    try:
        return _outcome_of(open_envelope(record, settings), settings, state)
    except DeadLetter as dead:
        return Outcome(dead_letter=dead.codes)


def _outcome_of(event, settings, state):
    is_snapshot = event.event_type is None
    if is_snapshot:
        # An order without an event type may tell of a change of status; without an id nobody knows of which order.
        is_order = isinstance(event.order, dict) and _order_id(event.order, settings) is not None
        if not settings.infer_status_changes or not is_order:
            raise DeadLetter("unknown_type", "not_an_event")
        event = event._replace(event_type="order_status_changed")
    is_list = event.event_type == "order_ids_listed"
    orders = _listed(event.body, settings) if is_list else [event.order]
    if not is_list and not isinstance(event.order, dict):
        raise DeadLetter("not_an_event")
    of_orders = (candidate for each in orders for candidate in _places(each, settings))
    place = first_text(*options(event.body, "place_id", settings), *of_orders)
    if place is None and needs_place(event.event_type, settings):
        raise DeadLetter("no_place")
    if not orders:
        return Outcome(suppressed="no_order_ids")
    zone = settings.zone_of(place)
    if not is_list:
        return _outcome_of_one_order(event, place, zone, settings, state, is_snapshot)
    notifications = {}
    for each in orders:
        notification = _notification(event, each, place, zone, settings)
        if notification.order_id not in notifications:
            notification.audiences = audiences_of(event.event_type, each, place, settings)
            notifications[notification.order_id] = notification
    return Outcome(notifications=list(notifications.values()))


def _outcome_of_one_order(event: Event, place, zone, settings, state, is_snapshot):
    """What the order's past says about the event, and what the event adds to that past."""
    body, order = event.body, event.order
    is_change = event.event_type == "order_status_changed"
    new = options(body, "new_status", settings) if is_change else ()
    status = first_text(*new, *options(order, "order.status", settings))
    if is_change and status is None and not is_snapshot:
        raise DeadLetter("missing_status")
    reason = previous = None
    if not keeps_state(event.event_type, settings.types):
        state = None
    if state is not None:
        facts = _facts(event, place, zone, status, settings)
        reason, previous = state.consider(facts)
        if reason == "duplicate":
            return Outcome(suppressed=reason)
    # The previous status of a snapshot has to be known: otherwise every snapshot would be a change.
    previous = first_text(*options(body, "previous_status", settings)) or previous or (status if is_snapshot else "unknown")
    notification = None
    if is_change and (status is None or previous == status):
        reason = "not_a_transition"
    elif reason is None:
        notification = _notification(event, order, place, zone, settings, (previous, status) if is_change else None)
        if len(notification.default_string.encode()) > MAX_PAYLOAD_BYTES:
            raise DeadLetter("payload_too_large")
        notification.audiences = audiences_of(event.event_type, order, place, settings)
    # Only now: an event that becomes a dead letter is not remembered.
    if state is not None:
        state.apply(facts)
    return Outcome(notifications=[notification]) if notification else Outcome(suppressed=reason)


def _facts(event: Event, place, zone, status, settings):
    order = event.order
    order_id = _order_id(order, settings)
    visible_id = _visible_id(order, settings)
    parent_id = first_text(*options(order, "order.parent_order_id", settings))
    if order_id is not None:
        texts = (order_id, visible_id or order_id, parent_id or order_id, place or "", status or "")
        if sum(len(each.encode()) for each in texts) > MAX_PAYLOAD_BYTES:
            order_id = None
    date, order_date = _named_date(order, zone, settings)
    members = {
        "visible_id": visible_id,
        "parent_id": parent_id,
        "date": date,
        "order_date": order_date,
        "order_type": _order_type(order, settings),
    }
    start, end = _named_slot(order, zone, settings)
    # Without a start there is no timer, nor for the whole day, which is what the fallback says.
    if start is not None and (start, end or LAST_MINUTE) != (FIRST_MINUTE, LAST_MINUTE):
        members["slot"] = (start, end or LAST_MINUTE)
        members["slot_date"] = _event_date(event, zone) if date is None and order_date is None else None
    return Facts(
        event_type=event.event_type,
        time=event.time,
        order_id=order_id,
        place=place,
        identity=event.identity,
        is_redriven=any(name == "__connect.errors.topic" for name, _ in event.record.own_headers),
        status=status,
        members={name: value for name, value in members.items() if value is not None},
    )


def _notification(event: Event, order, place, zone, settings, change=None):
    """`change` is the previous and the new status, where the event is about a change."""
    order_id = _order_id(order, settings) or ""
    visible_id = _visible_id(order, settings) or order_id
    start, end = _named_slot(order, zone, settings)
    date, order_date = _named_date(order, zone, settings)
    wire_type = "event_" + event.event_type
    identity = message_id(event.tag, event.source, wire_type, order_id, event.time)
    payload = {
        "message_id": identity,
        "order_id": order_id,
        "parent_order_id": first_text(*options(order, "order.parent_order_id", settings)) or order_id,
        "visible_id": visible_id,
        "event_type": wire_type,
        "delivery_date": date or order_date or _event_date(event, zone),
        "start_time": start or FIRST_MINUTE,
        "end_time": end or LAST_MINUTE,
        "place_id": place or "",
    }
    if change is not None:
        payload |= {"previous_status": change[0], "new_status": change[1], "order_number": visible_id}
    payload |= members_of(event.event_type, order, settings.types)
    is_degraded = order_id == "" and needs_order(event.event_type, settings.types)
    return Notification(identity, order_id, place, event.time, payload, _order_type(order, settings), is_degraded, [])


# -- Where a field of the payload comes from ------------------------------------------------------


def _listed(body, settings):
    """The orders of ORDER_IDS_LISTED; a bare id is an order that has nothing else."""
    ids, orders, order = (
        container(body, key, kind, settings) for key, kind in (("order_ids", list), ("orders", list), ("order", dict))
    )
    if isinstance(ids, list):
        return [{"id": found} for each in ids if (found := text(each)) is not None]
    if isinstance(orders, list):
        return [each for each in orders if isinstance(each, dict)]
    return [order] if isinstance(order, dict) else []


def _order_id(order, settings):
    return first_text(*options(order, "order.id", settings), *options(order, "order.order_number", settings))


def _visible_id(order, settings):
    return first_text(*options(order, "order.order_number", settings), *options(order, "order.reference_id", settings))


def _places(order, settings):
    return (
        *options(order, "order.place_id", settings),
        child(order, "place", "id"),
        *options(order, "order.shipping_info.place_id", settings),
    )


def _order_type(order, settings):
    for value in (*options(order, "order.order_type", settings), *options(order, "order.type", settings)):
        if isinstance(value, str) and value.strip().lower() in ("food", "d2d"):
            return value.strip().lower()
    return None


def _named_slot(order, zone, settings):
    """(start, end) of the first source that names one of them; (None, None) where none does."""
    for source in (("shipping_info.slot.start_time", "shipping_info.slot.end_time"), SALESFORCE):
        start, end = (
            _first(options(order, f"order.{key}", settings), parse_time, zone, is_end)
            for key, is_end in zip(source, (False, True), strict=True)
        )
        if start is not None or end is not None:
            return start, end
    for value in options(order, "order.shipping_info.pickup_details.time_slot", settings):
        start, end = parse_time_slot(value, zone)
        if start is not None or end is not None:
            return start, end
    return None, None


def _named_date(order, zone, settings):
    """The date of the delivery, or else that of the order; (None, None) where no source names one."""
    for key in ("shipping_info.slot.date", SALESFORCE[0], "shipping_info.slot.delivery_date"):
        if (found := _first(options(order, f"order.{key}", settings), parse_date, zone)) is not None:
            return found, None
    return None, _first(options(order, "order.order_date", settings), parse_date, zone)


def _first(values, parse, *arguments):
    """What can be read first."""
    return next((found for value in values if (found := parse(value, *arguments)) is not None), None)


def _event_date(event: Event, zone):
    return local(event.time, zone).date().isoformat()
