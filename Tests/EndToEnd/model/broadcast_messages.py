"""What is sent for a broadcast with `broadcasts.language=all`: the provider's message byte for byte, its size, and the record's
headers (docs/rules.md, section 14.2)."""

import functools
import json

from model.broadcast_content import DISPLAY, Broadcast, BroadcastOutcome, read_broadcast, same_tag
from model.json_text import written
from model.messages import MAX_PAYLOAD_BYTES
from model.records import FCM_TARGETS

MAX_TTL_SECONDS = 2_419_200
# Stands for a device's own while a message is made once for all that are alike.
TOKEN = "made-up-token"


def outcome_of(record):
    """What one record becomes, whichever devices there are."""
    outcome = read_broadcast(record)
    if outcome.broadcast is not None and is_too_large(outcome.broadcast):
        return BroadcastOutcome(dead_letter=frozenset(["payload_too_large"]))
    return outcome


def is_too_large(broadcast: Broadcast):
    """Whether a provider would refuse the largest of its messages."""
    texts = broadcast.texts or (None,)
    data = sum(len((name + value).encode()) for name, value in _data(broadcast).items())
    shown = max(len(f"title{text.title}body{text.msg}".encode()) if text else 0 for text in texts)
    payload = max(len(written(_payload(broadcast, text)).encode()) for text in texts)
    return data + shown > MAX_PAYLOAD_BYTES or payload > MAX_PAYLOAD_BYTES


class Renderer:
    """The messages of one broadcast."""

    def __init__(self, broadcast: Broadcast):
        self.broadcast = broadcast
        self._alike = functools.lru_cache(maxsize=None)(self._alike)

    def value_of(self, device):
        """The value of the dispatch record, as it is written."""
        before, after = self._alike(device.kind, device.app, device.environment, device.locale)
        return before + json.dumps(device.token, ensure_ascii=False) + after

    def headers_of(self, device, optional=()):
        """The headers of the dispatch record; those in `optional` are turned on by a setting."""
        broadcast = self.broadcast
        headers = {
            "message-id": broadcast.message_id,
            "platform": device.platform,
            "source": broadcast.record.source,
            "expires-at": str(broadcast.expires_at),
            "audience": broadcast.audience,
        }
        if "event-type" in optional:
            headers["event-type"] = "broadcast"
        if "app" in optional:
            headers["app"] = device.app
        if broadcast.record.traceparent is not None:
            headers["traceparent"] = broadcast.record.traceparent
        return headers

    def _alike(self, kind, app, environment, locale):
        """What is before and after the token in the messages of these devices."""
        text = text_for(locale, self.broadcast.texts)
        if kind == "apns_token":
            message = _apns(self.broadcast, text, app, environment)
        else:
            message = _fcm(self.broadcast, text, FCM_TARGETS[kind])
        before, _, after = written(message).partition(written(TOKEN))
        return before, after


def text_for(locale, texts):
    """The text in the language of a device: its own, that of its primary subtag, or the first; None without texts."""
    by_tag = {same_tag(each.language): each for each in reversed(texts)}
    tag = same_tag(locale or "")
    return by_tag.get(tag) or by_tag.get(tag.partition("-")[0]) or (texts[0] if texts else None)


def _data(broadcast: Broadcast):
    """The members beside the message, all of them strings."""
    is_display = broadcast.kind == DISPLAY
    members = {
        "actiontype": broadcast.kind,
        "notificationtype": broadcast.notification_type,
        "notificationid": broadcast.notification_id,
        "expiry": broadcast.expiry,
        "type": broadcast.cancellation,
        "channel": broadcast.channel,
        "poster": broadcast.poster,
        "fields": written([text._asdict() for text in broadcast.texts]) if is_display else None,
        "data": broadcast.data,
        "published_at": str(broadcast.published_at),
        "message_id": broadcast.message_id,
    }
    return {name: value for name, value in members.items() if value is not None}


def _fcm(broadcast: Broadcast, text, target):
    ttl = min(max((broadcast.expires_at - broadcast.published_at) // 1000, 0), MAX_TTL_SECONDS)
    apns = {"headers": _headers(broadcast), "payload": {"aps": _aps(broadcast, text)}}
    if broadcast.poster is not None:
        apns["fcm_options"] = {"image": broadcast.poster}
    android = {"priority": "high" if text else "normal", "ttl": f"{ttl}s"}
    return {"message": {target: TOKEN, "data": _data(broadcast), "android": android, "apns": apns}}


def _apns(broadcast: Broadcast, text, app, environment):
    return {
        "device_token": TOKEN,
        "environment": environment,
        "headers": {"apns-topic": app} | _headers(broadcast),
        "payload": _payload(broadcast, text),
    }


def _payload(broadcast: Broadcast, text):
    return {"aps": _aps(broadcast, text)} | _data(broadcast)


def _headers(broadcast: Broadcast):
    is_display = broadcast.kind == DISPLAY
    return {
        "apns-push-type": "alert" if is_display else "background",
        "apns-priority": "10" if is_display else "5",
        "apns-expiration": str(broadcast.expires_at // 1000),
        "apns-collapse-id": broadcast.message_id,
    }


def _aps(broadcast: Broadcast, text):
    if text is None:
        return {"content-available": 1}
    aps = {"alert": {"title": text.title, "body": text.msg}}
    if broadcast.poster is not None:
        aps["mutable-content"] = 1
    return aps
