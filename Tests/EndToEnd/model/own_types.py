"""The event types that the settings declare, by docs/rules.md, section 5.7."""

from model.records import DeadLetter
from model.values import child, text

MAX_MEMBER_BYTES = 1_024


def keeps_state(event_type, types):
    return event_type not in types or types[event_type].get("state") == "kept"


def needs_order(event_type, types):
    return event_type not in types or types[event_type].get("order") != "optional"


def members_of(event_type, order, types):
    """The members that the payload copies, in their order."""
    members = {}
    for path in types.get(event_type, {}).get("members", []):
        value = text(child(order, *path.split(".")))
        if value is None:
            continue
        if len(value.encode()) > MAX_MEMBER_BYTES:
            raise DeadLetter("payload_too_large")
        members[path.split(".")[-1]] = value
    return members
