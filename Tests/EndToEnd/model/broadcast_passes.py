"""Follows one partition of the subscriptions through the journal of broadcasts: whether its ranges, passes and ends are right,
and which pushes follow from them."""

import bisect
import collections
from typing import NamedTuple

from model.broadcast_journal import Slice
from model.records import Device

# A slice has asked for the ends of what it reads so long ago, at most.
VIEW_AGE_MS = 1_000
# From that answer until its transaction writes its journal record, the last one in it: it renders and produces a slice meanwhile,
# beside the other processes, the broker and the test on a machine with two cores.
SLICE_MS = 2_000


class Expected(NamedTuple):
    """A push that has to be there."""

    # The order in which a partition's pushes to a device are written: the number of the transaction, passes before those who
    # join, and the broadcast.
    rank: tuple
    partition: int
    broadcast: int
    device: Device


class OpenPass(NamedTuple):
    broadcast: int
    joined_below: int
    key: object


class PartitionWalk:
    """One partition. `take` is given the entries that have it, in their order, then `finish` is called."""

    def __init__(self, partition, run, log, channels, report):
        self.partition, self.run, self.log, self.channels, self.report = partition, run, log, channels, report
        self.position = run.starts.get(partition, 0)
        # How far the broadcasts were known, and the newest one that has begun, ended or been skipped.
        self.view, self.newest = 0, -1
        self.open = None
        self.boundaries = {self.position}
        # The offset of the subscriptions below which a pass sends, by broadcast.
        self.joined_below, self.skipped = {}, set()
        # The broadcasts that were begun or skipped, with what was known then.
        self.mentions = []
        self.expected = []
        # How long after its end a broadcast was sent, in ms; how many joined for whom there was more than they may get.
        self.slowest_end = self.limited = 0
        # How many broadcasts were not sent since a token took the place of another one.
        self.spared = 0
        of_partition = [record for record in run.subscriptions if record.partition == partition]
        self.offsets = [record.offset for record in of_partition]
        self.timestamps = [record.timestamp for record in of_partition]

    def take(self, entry):
        self.name = f"partition {self.partition}, {entry.place}"
        first, last = entry.ranges[self.partition]
        if first > self.position:
            self.report.add("journal misses offsets", f"{self.position} to {first}, before {self.name}")
        elif first < self.position:
            self.report.add("journal repeats offsets", f"{first} to {self.position}, in {self.name}")
        self.position = last
        self.boundaries |= {first, last}
        if entry.view < self.view:
            self.report.add("the view went back", f"{self.view}, then {entry.view}, in {self.name}")
        self.view = entry.view
        passes = [each for each in entry.passes if each.partition == self.partition]
        skipped = [each for each in entry.skipped if each.partition == self.partition]
        for each in sorted([*passes, *skipped], key=lambda each: each.broadcast):
            if isinstance(each, Slice):
                self._slice(entry, each)
            else:
                self._skip(entry, each)
        self._late(entry)

    def finish(self):
        self.name = f"partition {self.partition}"
        if self.position != self.run.ends[self.partition]:
            self.report.add("journal misses offsets", f"{self.name} ends at {self.position}, not {self.run.ends[self.partition]}")
        if self.open:
            self.report.add("a pass without an end", f"{self.name}: of broadcast {self.open.broadcast}")
        mentioned = {broadcast for broadcast, _ in self.mentions}
        for offset in self.log.published():
            if offset < self.run.first_broadcast or offset in mentioned:
                continue
            # Whoever went on to a later one knew so much.
            view = next((view for broadcast, view in self.mentions if broadcast > offset), self.view)
            if self.log.is_current(offset, view):
                self.report.add("a broadcast without a pass", f"{self.name}: {offset}, with everything below {view} known")

    # -- Passes -------------------------------------------------------------------------------------

    def _slice(self, entry, each):
        if self.open is None or self.open.broadcast != each.broadcast:
            self._begin(entry, each)
        else:
            self._continue(each)
        self._check_identity(each)
        if each.before is not None and each.after is not None and each.after <= each.before:
            self.report.add("k went back", f"{self.name}: {each.before[:12]}… to {each.after[:12]}…")
        fresh, stale = [], []
        if each.end in (None, "done"):
            fresh, stale = self._targets(entry, each)
            self._check_valid(entry, each, fresh)
            self._check_table(entry, each)
        elif not self._has_ended(entry, each):
            self.report.add("a pass ended without a cause", f"{self.name}: broadcast {each.broadcast} is not {each.end}")
        rank = (entry.number, 0, each.broadcast)
        self.expected += [Expected(rank, self.partition, each.broadcast, device) for device in fresh]
        if (each.sent, each.stale) != (len(fresh), len(stale)):
            wanted = f"{len(fresh)} and {len(stale)} stale"
            self.report.add("wrong count", f"{self.name}: sent {each.sent} and {each.stale} stale, expected {wanted}")
        self.open = OpenPass(each.broadcast, each.joined_below, each.after) if each.end is None else None

    def _begin(self, entry, each):
        if self.open is not None:
            text = f"{self.name}: {each.broadcast} while that of {self.open.broadcast} is under way"
            self.report.add("two passes at a time", text)
        if each.broadcast <= self.newest:
            self.report.add("passes out of order", f"{self.name}: {each.broadcast} after {self.newest}")
        self._mention(entry, each.broadcast)
        self.joined_below[each.broadcast] = each.joined_below
        first, _ = entry.ranges[self.partition]
        if each.joined_below != first or each.joined_below not in self.boundaries:
            self.report.add("a pass begins elsewhere", f"{self.name}: s={each.joined_below}, committed was {first}")
        if each.before is not None or each.devices is None:
            self.report.add("a pass without a beginning", f"{self.name}: of broadcast {each.broadcast}")
            return
        broadcast = self.log.broadcast(each.broadcast)
        members = self.channels.at(self.partition, broadcast.audience, first) if broadcast else ()
        count = sum(member.joined < each.joined_below for member in members)
        if each.devices != count:
            self.report.add("wrong count", f"{self.name}: the pass has {each.devices} devices, expected {count}")

    def _continue(self, each):
        if each.joined_below != self.open.joined_below:
            self.report.add("s has changed", f"{self.name}: {self.open.joined_below}, then {each.joined_below}")
        if each.before != self.open.key or each.devices is not None:
            self.report.add("a pass continues elsewhere", f"{self.name}: at {each.before}, was at {self.open.key}")

    def _targets(self, entry, each):
        """The devices that a slice has to send to, and those that were last seen too long ago."""
        broadcast, (position, _) = self.log.broadcast(each.broadcast), entry.ranges[self.partition]
        if broadcast is None:
            return [], []
        until = None if each.end == "done" else each.after
        members = self.channels.at(self.partition, broadcast.audience, position, each.before, until)
        devices = [member.device for member in members if member.joined < each.joined_below]
        return self._by_age(broadcast, devices)

    def _by_age(self, broadcast, devices):
        parts = [], []
        for device in devices:
            seen = device.last_seen
            parts[seen is not None and broadcast.published_at - seen > self.run.settings.max_age_ms].append(device)
        return parts

    def _check_valid(self, entry, each, fresh):
        """Whether the slice may be sent by what its transaction knows; and how long after its end it knows that."""
        log = self.log
        if not (fresh or each.sent):
            return
        if log.broadcast(each.broadcast) is None or each.broadcast >= entry.view:
            self.report.add("a slice of no broadcast", f"{self.name}: {each.broadcast}")
        elif not log.is_current(each.broadcast, entry.view):
            self.report.add(
                "sent after its end was known", f"{self.name}: broadcast {each.broadcast}, everything below {entry.view}"
            )
        elif log.broadcast(each.broadcast).expires_at <= entry.clock:
            self.report.add("sent after it had expired", f"{self.name}: broadcast {each.broadcast} at {entry.clock}")
        if each.broadcast in log.replaced_by:
            late = self._age(entry, log.replaced_by[each.broadcast].timestamp)
            self.slowest_end = max(self.slowest_end, late)
            if late > VIEW_AGE_MS + self.run.slice_ms:
                self.report.add("sent long after its end", f"{self.name}: broadcast {each.broadcast}, {late} ms after its end")

    def _check_table(self, entry, each):
        """Whether what was read of the partition is new enough for a slice."""
        at = bisect.bisect_left(self.offsets, entry.ranges[self.partition][1])
        if (
            each.sent
            and at < len(self.offsets)
            and (age := self._age(entry, self.timestamps[at])) > VIEW_AGE_MS + self.run.slice_ms
        ):
            self.report.add("the table is too old", f"{self.name}: offset {self.offsets[at]} was there for {age} ms")

    def _age(self, entry, timestamp):
        """How long before the end of a transaction something was there, without the time in which a process was stopped: what it
        had written of its transaction goes on counting if the group has its offsets already."""
        stopped = sum(
            max(0, min(end, entry.timestamp) - max(begin, timestamp))
            for instance, begin, end in self.run.frozen
            if entry.slot.startswith(f"{instance}-")
        )
        return entry.timestamp - timestamp - stopped

    def _has_ended(self, entry, each):
        broadcast = self.log.broadcast(each.broadcast)
        if each.end == "cancelled":
            return not self.log.is_current(each.broadcast, entry.view)
        if each.end == "expired":
            return broadcast is not None and broadcast.expires_at <= entry.clock
        return self.log.is_bad(each.broadcast)

    def _skip(self, entry, each):
        if self.open is not None or each.broadcast <= self.newest:
            self.report.add("passes out of order", f"{self.name}: {each.broadcast} is skipped after {self.newest}")
        self._mention(entry, each.broadcast)
        self.skipped.add(each.broadcast)
        broadcast = self.log.broadcast(each.broadcast)
        if each.reason == "dead_letter":
            is_right = each.broadcast in self.log.outcomes and self.log.is_bad(each.broadcast)
        else:
            is_right = broadcast is not None and broadcast.expires_at <= entry.clock
        if not is_right:
            self.report.add("skipped without a cause", f"{self.name}: broadcast {each.broadcast} is no {each.reason}")

    def _mention(self, entry, broadcast):
        self.newest = max(self.newest, broadcast)
        self.mentions.append((broadcast, entry.view))

    def _check_identity(self, each):
        broadcast = self.log.broadcast(each.broadcast)
        wanted = (broadcast.notification_id, broadcast.message_id) if broadcast else None
        if wanted and each.identity is not None and (each.identity, each.message_id) != wanted:
            self.report.add("wrong identity", f"{self.name}: {each.identity}, {each.message_id}; expected {wanted}")

    # -- Those who join -------------------------------------------------------------------------------

    def _late(self, entry):
        counts = collections.Counter()
        for join in self.channels.joins(self.partition, *entry.ranges[self.partition]):
            left = self.channels.left(self.partition, join)
            if left is not None and left < entry.known[self.partition]:
                continue
            missed = [
                each
                for each, renderer in self.log.renderers.items()
                if renderer.broadcast.audience == join.audience
                and self.log.is_valid(each, entry.view, entry.clock)
                and self._was_before(each, join.offset)
            ]
            self.limited += len(missed) > self.run.max_late
            for offset in missed[-self.run.max_late :] if self.run.max_late else ():
                if self._reached_old_token(join, offset):
                    self.spared += 1
                    continue
                if self._by_age(self.log.broadcast(offset), [join.device])[0]:
                    counts[offset] += 1
                    self.expected.append(Expected((entry.number, 1, offset), self.partition, offset, join.device))
                    self._check_leaver(entry, left)
        found = collections.Counter()
        for each in entry.late:
            if each.partition == self.partition:
                self._check_identity(each)
                found[each.broadcast] += each.sent
        if +found != counts:
            self.report.add("wrong count", f"{self.name}: who joined got {dict(found)}, expected {dict(counts)}")

    def _reached_old_token(self, join, broadcast):
        """Whether a joiner is a device that was there by another token, to which the broadcast's passes have gone."""
        is_under_way = self.open is not None and self.open.broadcast == broadcast
        return join.rotated is not None and not is_under_way and self.log.records[broadcast].timestamp < join.rotated

    def _check_leaver(self, entry, left):
        """Whether who joined and gets something had not left long before."""
        if left is None:
            return
        age = self._age(entry, self.timestamps[bisect.bisect_left(self.offsets, left)])
        if age > VIEW_AGE_MS + self.run.slice_ms:
            self.report.add("sent to who had left", f"{self.name}: offset {left} was there for {age} ms")

    def _was_before(self, broadcast, offset):
        """Whether the broadcast's turn came before that of who joins at an offset: then no pass brings it."""
        if broadcast in self.joined_below:
            return self.joined_below[broadcast] <= offset
        return broadcast < self.run.first_broadcast or broadcast in self.skipped or broadcast < self.newest
