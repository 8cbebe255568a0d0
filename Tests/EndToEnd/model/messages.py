"""What is sent for a notification: its message id (section 6), the provider's message (section 7), and the record's headers."""

import hashlib
import json

from model.display import shown

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


def is_too_large(notification, devices=(), settings=None):
    """Whether a provider would refuse the message for its size: with the longest of the texts that its devices get."""
    size = len("default") + len(notification.default_string.encode())
    if notification.order_type:
        size += len("order_type" + notification.order_type + "order_id" + notification.order_id)
    texts = [shown(notification.payload, each.locale, settings.display, each.audience) for each in devices]
    return size + max((len(("titlebody" + "".join(each)).encode()) for each in texts if each), default=0) > MAX_PAYLOAD_BYTES


def value_of(notification, device, settings):
    """The value of the dispatch record, as an object."""
    expiration = str(notification.event_time // 1000 + settings.ttl_seconds)
    data = {"default": notification.default_string}
    text = shown(notification.payload, device.locale, settings.display, device.audience)
    if notification.order_type:
        data |= {"order_type": notification.order_type, "order_id": notification.order_id}
    is_apns, is_shown = device.platform == "apns", text is not None
    headers = {
        "apns-push-type": "alert" if is_shown else "background",
        "apns-priority": "10" if is_shown else "5",
        "apns-expiration": expiration,
    }
    if is_apns or is_shown:
        headers["apns-collapse-id"] = notification.message_id
    notice = {"title": text[0], "body": text[1]} if is_shown else None
    if is_apns:
        alert = {"alert": notice} if is_shown else {}
        return {
            "device_token": device.token,
            "environment": device.environment,
            "headers": {"apns-topic": device.app, **headers},
            "payload": {"aps": alert | {"content-available": 1}, **data},
        }
    android = {"priority": settings.android_priority, "ttl": f"{settings.ttl_seconds}s"}
    if is_shown:
        android["notification"] = {"tag": notification.message_id}
    return {
        "message": {
            device.target: device.token,
            **({"notification": notice} if is_shown else {}),
            "data": data,
            "android": android,
            "apns": {"headers": headers, "payload": {"aps": {"content-available": 1}}},
        }
    }


def payload_of(value):
    """What the app reads of the value of a dispatch record, of either provider."""
    outer = value["message"]["data"] if "message" in value else value["payload"]
    return json.loads(outer["default"])["data"]


def headers_of(notification, device, record, settings):
    """The headers of the dispatch record."""
    headers = {
        "message-id": notification.message_id,
        "platform": device.platform,
        "source": record.source,
        "expires-at": str(notification.event_time + settings.ttl_seconds * 1000),
        "audience": device.audience,
    }
    if "event-type" in settings.headers:
        headers["event-type"] = notification.payload["event_type"]
    if "app" in settings.headers:
        headers["app"] = device.app
    if "order-id" in settings.headers:
        headers["order-id"] = notification.order_id
    if notification.degraded:
        headers["x-degraded"] = "order_id"
    if record.traceparent is not None:
        headers["traceparent"] = record.traceparent
    return headers
