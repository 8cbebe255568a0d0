"""What is sent for a request: the provider's message byte for byte, its size, and the record's headers (docs/rules.md,
sections 8 to 10)."""

import hashlib
import re
from dataclasses import replace
from typing import NamedTuple

from model.json_text import written
from model.records import Device
from model.request_content import Content, text_of
from model.requests import Request, RequestOutcome, outcome_of, recipients

MAX_TTL_SECONDS = 2_419_200
MAX_BYTES = 4_096
# What the limit is of.
LIMITED = {"fcm": "the data and notification of an FCM message have", "apns": "the payload of an APNs message has"}


class Push(NamedTuple):
    """A dispatch record; its key is the device's hash."""

    device: Device
    # The one through which the device is reached.
    audience: str
    value: str
    headers: dict


def pushes_of(record, subscriptions, settings, clock, position=None):
    """All that one record of notifications.requests must become: the pushes, and the outcome with the reason if there are none.

    `clock` and `position` are those of its transaction in the journal.
    """
    outcome = outcome_of(record, settings, clock)
    if outcome.request is None:
        return [], outcome
    devices, reason = recipients(outcome.request, subscriptions, settings, position)
    if reason is not None:
        return [], replace(outcome, request=None, suppressed=reason)
    sizes = {platform: size_of(outcome.request, platform) for platform in {device.platform for device, _ in devices}}
    if max(sizes.values()) > MAX_BYTES:
        sentences = [
            f"{LIMITED[platform]} {size} bytes, at most {MAX_BYTES} are allowed"
            for platform, size in sizes.items()
            if size > MAX_BYTES
        ]
        refused = RequestOutcome(dead_letter=frozenset(["payload_too_large"]), sentences=frozenset(sentences))
        return [], replace(refused, identity=outcome.identity, is_put_back=outcome.is_put_back)
    pushes = [
        Push(
            device,
            audience,
            value_of(outcome.request, device, settings),
            headers_of(outcome.request, device, audience, settings.headers),
        )
        for device, audience in devices
    ]
    return pushes, outcome


def value_of(request: Request, device, settings):
    """The value of the dispatch record, as it is written."""
    message = _apns(request, device) if device.platform == "apns" else _fcm(request, device, settings.requests)
    return written(message)


def size_of(request: Request, platform):
    """What the provider counts against its limit."""
    content = request.content
    if platform == "apns":
        return len(written(_apns_payload(request)).encode())
    data = _fcm_data(request)
    shown = {} if content.silent else _present(title=content.title, body=content.body, image=content.image)
    return sum(len((name + value).encode()) for name, value in [*data.items(), *shown.items()])


def headers_of(request: Request, device, audience, optional=()):
    """The headers of the dispatch record; those in `optional` are turned on by a setting."""
    headers = {
        "message-id": request.message_id,
        "platform": device.platform,
        "source": request.record.source,
        "expires-at": str(request.expiry),
        "audience": audience,
    }
    if "event-type" in optional:
        headers["event-type"] = request.kind
    if "app" in optional:
        headers["app"] = device.app
    if request.id is not None:
        headers["request-id"] = _request_id(request.id)
    if request.record.traceparent is not None:
        headers["traceparent"] = request.record.traceparent
    return headers


def _request_id(text):
    """An id that a header can hold."""
    if len(text.encode()) > 255 or re.search(r"[\x00-\x1f\x7f]", text):
        return hashlib.sha256(text.encode()).hexdigest()
    return text


def _present(**members):
    """The members that are there, named as a provider names them."""
    return {name: value for name, value in members.items() if value is not None and value != []}


def _fcm(request: Request, device, settings):
    content = request.content
    ttl = min(max((request.fcm_expiry - request.event_time) // 1000, 0), MAX_TTL_SECONDS)
    message = {device.target: device.token}
    android = {"priority": request.priority or ("normal" if content.silent else "high"), "ttl": f"{ttl}s"}
    if request.collapse_key is not None:
        android = {"collapse_key": request.collapse_key} | android
    apns = {"headers": _apns_headers(request, request.fcm_expiry)}
    if content.silent:
        message |= {"data": _fcm_data(request), "android": android}
        aps = {"content-available": 1}
    else:
        if shown := _present(title=content.title, body=content.body, image=content.image):
            message["notification"] = shown
        android["notification"] = _present(
            icon=content.icon,
            sound=content.sound,
            tag=content.category or request.collapse_key or request.message_id,
            click_action=content.click_action,
            title_loc_key=content.title_key,
            title_loc_args=content.title_arguments,
            body_loc_key=content.body_key,
            body_loc_args=content.body_arguments,
            notification_count=content.badge if settings.notification_count else None,
        )
        message |= {"data": _fcm_data(request), "android": android}
        is_localised = content.title_key is not None or content.body_key is not None
        aps = _aps(request, with_alert=is_localised, with_badge=settings.notification_count)
    if aps:
        apns["payload"] = {"aps": aps}
    if content.image is not None:
        apns["fcm_options"] = {"image": content.image}
    return {"message": message | {"apns": apns}}


def _fcm_data(request: Request):
    return {key: text_of(value) for key, value in request.content.custom.items()} | {"message_id": request.message_id}


def _apns(request: Request, device):
    return {
        "device_token": device.token,
        "environment": device.environment,
        "headers": {"apns-topic": device.app} | _apns_headers(request, request.expiry),
        "payload": _apns_payload(request),
    }


def _apns_headers(request: Request, expiry):
    is_silent = request.content.silent
    return {
        "apns-push-type": "background" if is_silent else "alert",
        "apns-priority": "5" if is_silent or request.priority == "normal" else "10",
        "apns-expiration": str(expiry // 1000),
        "apns-collapse-id": request.collapse_key or request.message_id,
    }


def _apns_payload(request: Request):
    content = request.content
    aps = {"content-available": 1} if content.silent else _aps(request, with_alert=True, with_badge=True)
    payload = {"aps": aps} | content.custom
    if content.image is not None:
        payload["imageUrl"] = content.image
    return payload | {"message_id": request.message_id}


def _aps(request: Request, with_alert, with_badge):
    content = request.content
    members = {
        "alert": _alert(content) if with_alert else None,
        "badge": content.badge if with_badge else None,
        "sound": content.sound,
        "thread-id": request.collapse_key,
        "category": content.category,
        "mutable-content": 1 if content.image is not None else None,
    }
    return _present(**members)


def _alert(content: Content):
    members = {
        "title": content.title,
        "body": content.body,
        "title-loc-key": content.title_key,
        "title-loc-args": content.title_arguments,
        "loc-key": content.body_key,
        "loc-args": content.body_arguments,
    }
    return _present(**members)
