"""The records for single devices that a grouped record stands for (docs/rules.md, section 7.2)."""

import hashlib
import json
from typing import NamedTuple, Optional

from model.records import Record

MAX_DEVICES = 500
MAX_BYTES = 700_000
# What comes after the number of devices.
OWN_HEADERS = ("x-degraded", "traceparent")


class Sent(NamedTuple):
    """One device's push, at the place of the record that it is in."""

    record: Record
    # The key of the grouped record; None where the record is for one device.
    group: Optional[bytes]

    @property
    def key(self):
        """What decides the partition."""
        return self.record.key if self.group is None else self.group


def sent(records, grouping, report):
    """The pushes of dispatch records, in their order. `grouping` is the setting dispatch.grouping: what is written otherwise is a
    difference, except by a re-drive."""
    for record in records:
        names = [name for name, _ in record.headers]
        is_grouped = "devices" in names
        if is_grouped != (grouping == "audience") and names[-1:] != ["replay"]:
            report.add("wrong form", f"{record.source}: {'grouped' if is_grouped else 'for one device'}, with {grouping}")
        if not is_grouped:
            yield Sent(record, None)
            continue
        try:
            pushes = list(_expanded(record, names))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            report.add("wrong group", f"{record.source}: {type(error).__name__}: {error}")
            continue
        yield from (Sent(push, record.key) for push in pushes)


def _expanded(record, names):
    """The records for the devices; ValueError where the record breaks a rule of its form."""
    headers = dict(record.headers)
    devices, shared = split(record.value.decode())
    if len(devices) > MAX_DEVICES or len(record.value) > MAX_BYTES:
        raise ValueError(f"{len(devices)} devices in {len(record.value)} bytes")
    if headers["devices"] != str(len(devices)).encode() or names.count("devices") != 1:
        raise ValueError(f"{headers['devices']} devices said, {len(devices)} found")
    if names.index("devices") != sum(name not in (*OWN_HEADERS, "devices") for name in names):
        raise ValueError(f"headers in the order {names}")
    if len({device["hash"] for device in devices}) != len(devices):
        raise ValueError("a device is in it twice")
    rest = tuple(each for each in record.headers if each[0] != "devices")
    for device in devices:
        if set(device) != {"hash", "token"} or device["hash"] != hashlib.sha256(device["token"].encode()).hexdigest():
            raise ValueError(f"{device}: not a token and its hash")
        value = single_value(headers["platform"].decode(), device["token"], shared)
        yield record._replace(key=device["hash"].encode(), value=value.encode(), headers=rest)


def split(value):
    """The devices of a grouped record's value, and the text after their list."""
    start = '{"devices":'
    if not value.startswith(start):
        raise ValueError(f"the value does not begin with {start}")
    devices, end = json.JSONDecoder().raw_decode(value, len(start))
    if not devices or value[len(start) : end] != json.dumps(devices, ensure_ascii=False, separators=(",", ":")):
        raise ValueError("the list of devices is written in another way")
    return devices, value[end:]


def single_value(platform, token, shared):
    """The value of the record for one device."""
    begin, head = {"fcm": (',"message":{', '{"message":{"token":'), "apns": (",", '{"device_token":')}[platform]
    if not shared.startswith(begin):
        raise ValueError(f"{shared[:20]}… does not begin with {begin}")
    return head + json.dumps(token, ensure_ascii=False) + "," + shared[len(begin) :]
