"""What is sent for a notification: its message id (section 6), the provider's message (section 7), and the record's headers."""

import hashlib
import json

UNIT_SEPARATOR = "\x1f"
MAX_PAYLOAD_BYTES = 4096
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def message_id(tag, source, event_type, order_id, milliseconds):
    """`tag` and `source` say what the id is derived from; `event_type` is written as in a payload."""
    data = UNIT_SEPARATOR.join(["v1", tag, *source, event_type, order_id]).encode()
    number = int.from_bytes(hashlib.sha256(data).digest()[:8], "big") % 36**9
    digits = ""
    for _ in range(9):
        number, digit = divmod(number, 36)
        digits = BASE36[digit] + digits
    return f"msg-{milliseconds}-{digits}"


def is_too_large(notification):
    """Whether a provider would refuse the message for its size."""
    size = len("default") + len(notification.default_string.encode())
    if notification.order_type:
        size += len("order_type" + notification.order_type + "order_id" + notification.order_id)
    return size > MAX_PAYLOAD_BYTES


def value_of(notification, device, settings):
    """The value of the dispatch record, as an object."""
    expiration = str(notification.event_time // 1000 + settings.ttl_seconds)
    data = {"default": notification.default_string}
    if notification.order_type:
        data |= {"order_type": notification.order_type, "order_id": notification.order_id}
    background = {"apns-push-type": "background", "apns-priority": "5", "apns-expiration": expiration}
    if device.platform == "apns":
        return {
            "device_token": device.token,
            "environment": device.environment,
            "headers": {"apns-topic": device.app, **background, "apns-collapse-id": notification.message_id},
            "payload": {"aps": {"content-available": 1}, **data},
        }
    return {
        "message": {
            "token": device.token,
            "data": data,
            "android": {"priority": settings.android_priority, "ttl": f"{settings.ttl_seconds}s"},
            "apns": {"headers": background, "payload": {"aps": {"content-available": 1}}},
        }
    }


def payload_of(value):
    """What the app reads of the value of a dispatch record, of either provider."""
    outer = value["message"]["data"] if "message" in value else value["payload"]
    return json.loads(outer["default"])["data"]


def headers_of(notification, device, record, settings):
    """The headers that a dispatch record has where no setting asks for more."""
    headers = {
        "message-id": notification.message_id,
        "platform": device.platform,
        "source": record.source,
        "expires-at": str(notification.event_time + settings.ttl_seconds * 1000),
    }
    if notification.degraded:
        headers["x-degraded"] = "order_id"
    trace = next((value for name, value in record.headers if name == "traceparent"), None)
    if trace is not None:
        headers["traceparent"] = trace.decode()
    return headers
