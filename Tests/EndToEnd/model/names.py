"""What a member may be called: its known name, then those of `events.members`, in their order (docs/rules.md, section 5.6)."""

from model.values import child

OF_ORDER = "order."


def options(value, key, settings):
    """The values of a member of an event's body, or with `order.` of an order, in the order in which they count."""
    return [child(value, *path.split(".")) for path in _paths(key, settings)]


def container(value, key, kind, settings):
    """The first value of this kind; if there is none, the first that is not null."""
    found = options(value, key, settings)
    right = (each for each in found if isinstance(each, kind))
    return next(right, next((each for each in found if each is not None), None))


def is_event(body, settings):
    """Whether it has an order, a list of orders or of ids under one of their names; null is one."""
    return any(_has(body, path.split(".")) for key in ("order", "orders", "order_ids") for path in _paths(key, settings))


def _paths(key, settings):
    return [key.removeprefix(OF_ORDER), *settings.members.get(key, ())]


def _has(value, names):
    return isinstance(value, dict) and names[0] in value and (len(names) == 1 or _has(value[names[0]], names[1:]))
