"""What an app gets to know of a request's push: what its payload carries, normalised (docs/receiving.md)."""

from model.json_text import Members
from model.request_content import text_of

LINKS = {
    "food": "https://mikmik.site/track_order.php?order_id=",
    "d2d": "https://mikmik.site/d2d/track_d2d.php?order_id=",
}
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def received(push, request):
    """As `receiving-app --json` prints it, with the texts of numbers for numbers."""
    content, by_fcm = request.content, push.device.platform == "fcm"
    key = request.collapse_key
    known = {
        "kind": request.kind,
        "device": push.device.token_hash,
        "message_id": request.message_id,
        "title": content.title,
        "body": content.body,
    }
    if content.silent:
        known |= {"title": None, "body": None}
    # By FCM every value is a string, and it keeps this key for itself.
    custom = content.custom
    if by_fcm:
        custom = {name: text_of(value) for name, value in custom.items() if name not in ("collapse_key", "fcm_options")}
    if request.kind == "app":
        known |= {"type": custom["type"], "data": custom, "image": content.image}
    else:
        known["extras"] = custom
        if not content.silent:
            known |= {
                "sound": content.sound,
                "icon": content.icon if by_fcm else None,
                "badge": None if by_fcm or content.badge is None else str(content.badge),
                "category": content.category or key or request.message_id if by_fcm else content.category,
                "collapse_key": key,
            }
        if by_fcm:
            known["collapse_key"] = key if key is not None else as_string(content.custom.get("collapse_key"))
    known["link"] = link_of(custom)
    return {name: plain(value) for name, value in known.items() if value is not None}


def as_string(value):
    return None if value is None else text_of(value)


def link_of(custom):
    """Document 3's URL, of two texts at the root."""
    order_type, order_id = (custom.get(name) for name in ("order_type", "order_id"))
    if not isinstance(order_type, str) or isinstance(order_id, (dict, list)) or order_id in (None, ""):
        return None
    template = LINKS.get(order_type.lower())
    return template and template + escaped(text_of(order_id))


def escaped(text):
    """Percent-encoded outside of RFC 3986's unreserved characters."""
    return "".join(chr(byte) if chr(byte) in UNRESERVED else f"%{byte:02X}" for byte in text.encode())


def plain(value):
    """Without the order of members, and each number as its text in JSON."""
    if isinstance(value, Members):
        return {name: plain(member) for name, member in dict(value).items()}
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Number(text_of(value))
    return value


# -- Comparing ------------------------------------------------------------------------------------


class Number(str):
    """A number's text, which is no string."""

    def __eq__(self, other):
        return isinstance(other, Number) and str.__eq__(self, other)

    __hash__ = str.__hash__
