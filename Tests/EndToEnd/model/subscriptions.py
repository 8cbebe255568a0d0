"""Who was subscribed when: the fold of the subscriptions topic."""

import bisect
import hashlib
import json

from model.records import Device
from model.values import parse_event_time


class Subscriptions:
    """Who was subscribed at any position of the topic: the fold of its records below that position.

    A position is the next offset of each partition. The records come in the order of their offsets within each partition;
    a key never changes its partition.
    """

    def __init__(self, records):
        # By audience and hash of the token: the partition, the offsets at which the device changed, and what it was from there
        # on, None where it unsubscribed.
        self._changes = {}
        self.ends = {}
        for record in records:
            self.ends[record.partition] = record.offset + 1
            audience, _, token_hash = (record.key or b"").decode(errors="replace").rpartition("|")
            device = device_of(record.value, audience, token_hash) if record.value is not None else None
            if device is None and record.value is not None:
                continue
            changes = self._changes.setdefault(audience, {}).setdefault(token_hash, (record.partition, [], []))
            changes[1].append(record.offset)
            changes[2].append(device)

    def at(self, audience, position=None):
        """The devices of an audience; at the end of the topic without a position."""
        for partition, offsets, devices in self._changes.get(audience, {}).values():
            count = len(offsets) if position is None else bisect.bisect_left(offsets, position[partition])
            if count and (device := devices[count - 1]) is not None:
                yield device

    def knows(self, audience, token_hash):
        """Whether the device ever was one of the audience."""
        return token_hash in self._changes.get(audience, {})

    def audiences(self):
        return self._changes.keys()


def device_of(value, audience, token_hash):
    """The device of a subscription, or None where it is malformed: such a record changes nothing."""
    try:
        value = json.loads(value)
        token = value["token"]
        if value["audience"] != audience or hashlib.sha256(token.encode()).hexdigest() != token_hash:
            return None
        last_seen = parse_event_time(value.get("last_seen_at"))
        return Device(
            token=token,
            token_hash=token_hash,
            platform=value["platform"],
            app=value["app"],
            environment=value["environment"],
            last_seen=last_seen,
            locale=value.get("locale"),
            address_kind=value.get("address_kind"),
        )
    except (ValueError, KeyError, TypeError):
        return None


def recipients(notification, subscriptions, settings, position=None):
    """The devices that get a notification, where the table stands at the position: each once, by the first of the audiences
    in which it was seen lately enough."""
    found = {}
    for audience in notification.audiences:
        for device in subscriptions.at(audience, position):
            if device.last_seen is None or notification.event_time - device.last_seen <= settings.max_age_ms:
                found.setdefault(device.token_hash, device._replace(audience=audience))
    return found.values()
