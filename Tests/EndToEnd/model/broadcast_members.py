"""Who is in a channel, and since when: the fold of the records of the channels, for each partition of the subscriptions."""

import bisect
import collections
import re
from typing import NamedTuple, Optional

from model.records import Device
from model.subscriptions import device_of

# What the header since says of a token that takes the place of another one.
SINCE = re.compile(rb"[0-9]{1,18}")


class Member(NamedTuple):
    """A device, and the offset of the record by which it joined."""

    device: Device
    joined: int


class Join(NamedTuple):
    """A device that was not there and is now, by the record at an offset."""

    offset: int
    audience: str
    device: Device
    # The time of the record, where its token takes the place of another one.
    rotated: Optional[int] = None


class Channels:
    """Who was in which channel at any offset of a partition. The records come in the order of their offsets in each one."""

    def __init__(self, records):
        # By partition and audience, then by hash: the offsets of the changes, and the member from there on, or None.
        self._changes = collections.defaultdict(dict)
        self._joins = collections.defaultdict(list)
        self._hashes = {}
        for record in records:
            audience, _, token_hash = (record.key or b"").decode(errors="replace").rpartition("|")
            if not audience.startswith("channel/"):
                continue
            device = device_of(record.value, audience, token_hash) if record.value is not None else None
            if device is None and record.value is not None:
                continue
            offsets, members = self._changes[record.partition, audience].setdefault(token_hash, ([], []))
            before = members[-1] if members else None
            if device is not None and before is None:
                self._joins[record.partition].append(Join(record.offset, audience, device, rotated_at(record)))
            offsets.append(record.offset)
            members.append(device and Member(device, before.joined if before else record.offset))

    def at(self, partition, audience, position, after=None, until=None):
        """The members of an audience below an offset, in the order of their hashes: above one hash, up to another."""
        changes = self._changes.get((partition, audience), {})
        hashes = self._hashes.get((partition, audience))
        if hashes is None:
            hashes = self._hashes[partition, audience] = sorted(changes)
        first = 0 if after is None else bisect.bisect_right(hashes, after)
        last = len(hashes) if until is None else bisect.bisect_right(hashes, until)
        for token_hash in hashes[first:last]:
            offsets, members = changes[token_hash]
            count = bisect.bisect_left(offsets, position)
            if count and (member := members[count - 1]) is not None:
                yield member

    def joins(self, partition, first, last):
        """Those who joined by the records from one offset to below another."""
        joins = self._joins[partition]
        begin, end = (bisect.bisect_left(joins, each, key=lambda join: join.offset) for each in (first, last))
        return joins[begin:end]

    def left(self, partition, join):
        """The offset of the record by which who has joined leaves again, None where there is none."""
        offsets, members = self._changes[partition, join.audience][join.device.token_hash]
        at = bisect.bisect_right(offsets, join.offset)
        return next((offset for offset, member in zip(offsets[at:], members[at:]) if member is None), None)

    def knows(self, audience, token_hash):
        """Whether the device ever was in the channel."""
        return any(token_hash in each for (_, name), each in self._changes.items() if name == audience)


def rotated_at(record):
    """When the record's token took the place of another one; None where it did not."""
    since = next((value for name, value in reversed(record.headers) if name == "since"), None)
    return record.timestamp if since is not None and SINCE.fullmatch(since) else None
