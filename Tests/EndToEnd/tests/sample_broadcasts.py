"""A small input of broadcasts, and the right output for it: processes that are simple and never fail."""

import base64
import collections
import hashlib
import json

from generator.broadcasts import Broadcasts, Members
from model.broadcast_members import rotated_at
from model.broadcast_messages import Renderer, outcome_of
from model.partitions import murmur2_partition
from model.records import Record, Settings
from model.subscriptions import device_of

SETTINGS = Settings()
TOPIC, SUBSCRIPTIONS, DISPATCH = "notifications.broadcasts", "notifications.subscriptions", "notifications.dispatch.broadcasts"
GROUP = "g-broadcasts"
PARTITIONS = 3
CHANNELS = ("General", "a", "ü b")
SEED = 20260324
START_MS = 1_772_352_000_000
STEPS, STEP_MS = 240, 400
# Devices to which a transaction sends at most, of one partition.
BUDGET = 6
MAX_LATE = 3


class Partition:
    """What belongs to one partition of the subscriptions."""

    def __init__(self, number):
        self.number, self.log = number, []
        self.committed, self.next = 0, 0
        # The offset below which a pass sends, and the last hash of the pass that is under way.
        self.joined_below = self.key = None
        # By audience and hash: the device, and the offset by which it joined.
        self.live = {}

    def take(self, record):
        """The audience and the device where somebody has joined."""
        audience, _, token_hash = record.key.decode().rpartition("|")
        if record.value is None:
            self.live.pop((audience, token_hash), None)
            return None
        device = device_of(record.value, audience, token_hash)
        if device is None:
            return None
        _, joined = self.live.get((audience, token_hash), (None, None))
        self.live[audience, token_hash] = device, record.offset if joined is None else joined
        return (audience, device) if joined is None else None


class SampleBroadcasts:
    """Half a second a step: somebody joins, leaves or changes, sometimes something is broadcast, and each partition has a
    transaction."""

    def __init__(self):
        members, broadcasts = Members(SEED, CHANNELS, 90, START_MS), Broadcasts(SEED, CHANNELS, brief_ms=(200, 3_000))
        self.partitions = [Partition(number) for number in range(PARTITIONS)]
        self.table, self.records, self.dispatch, self.letters, self.journal = [], [], [], [], []
        # By offset: what a record says; by key: the offset of its newest record.
        self.outcomes, self.newest = {}, {}
        self.now = START_MS
        for each in members.records:
            self._subscribe(each)
        for partition in self.partitions:
            for record in partition.log:
                partition.take(record)
            partition.committed = len(partition.log)
        self.starts = {each.number: each.committed for each in self.partitions}
        for step in range(STEPS):
            self.now = START_MS + step * STEP_MS
            for each in members.next():
                self._subscribe(each)
            if step % 3 == 0 and step < STEPS - 60:
                self._broadcast(broadcasts.next(self.now))
            for partition in self.partitions:
                self._transact(partition)
        self.ends = {each.number: each.committed for each in self.partitions}

    def _subscribe(self, each):
        partition = self.partitions[murmur2_partition(each.key, PARTITIONS)]
        partition.log.append(Record(SUBSCRIPTIONS, partition.number, len(partition.log), self.now, *each))
        self.table.append(partition.log[-1])

    def _broadcast(self, each):
        record = Record(TOPIC, 0, len(self.records), self.now, *each)
        self.records.append(record)
        self.outcomes[record.offset] = outcome_of(record)
        self.newest[record.key] = record.offset

    def _is_current(self, offset):
        return self.newest[self.records[offset].key] == offset and self.records[offset].value is not None

    def _transact(self, partition):
        self.clock = self.now + 50 * (partition.number + 1)
        first = partition.committed
        self.passes, self.late, self.skipped = [], collections.Counter(), []
        self._send(partition)
        for record in partition.log[first:]:
            # Who leaves again in the transaction gets nothing.
            if (joined := partition.take(record)) and not self._leaves(partition, record):
                self._catch_up(partition, record, *joined)
        partition.committed = len(partition.log)
        self.journal.append((self.clock + 20, partition.number, self._entry(partition, first)))

    def _send(self, partition):
        budget = BUDGET
        while budget > 0:
            if partition.joined_below is None and not self._begin(partition):
                return
            budget = self._slice(partition, budget)

    def _begin(self, partition):
        for offset in range(partition.next, len(self.records)):
            partition.next = offset
            outcome = self.outcomes[offset]
            if not self._is_current(offset):
                continue
            subject = {"partition": partition.number, "broadcast": offset}
            if outcome.dead_letter:
                self._refuse(partition, offset, outcome)
                self.skipped.append(subject | {"reason": "dead_letter"})
            elif outcome.broadcast.expires_at <= self.clock:
                self.skipped.append(subject | {"id": outcome.broadcast.notification_id, "reason": "expired"})
            else:
                partition.joined_below, partition.key, self.is_first = partition.committed, None, True
                return True
        partition.next = len(self.records)
        return False

    def _slice(self, partition, budget):
        offset, broadcast = partition.next, self.outcomes[partition.next].broadcast
        entry = self._subject(partition, offset) | {"s": partition.joined_below}
        if partition.key is not None:
            entry["k_before"] = base64url(partition.key)
        devices = sorted(
            (device for (audience, _), (device, joined) in partition.live.items() if audience == broadcast.audience),
            key=lambda device: device.token_hash,
        )
        # Those who joined since are in no pass; the table is that of the committed offset here.
        members = [each for each in devices if partition.live[broadcast.audience, each.token_hash][1] < partition.joined_below]
        if self.is_first:
            entry["devices"], self.is_first = len(members), False
        sent = stale = 0
        end = "cancelled" if not self._is_current(offset) else "expired" if broadcast.expires_at <= self.clock else None
        if end is None:
            end = "done"
            for device in members:
                if partition.key is not None and device.token_hash <= partition.key:
                    continue
                if not budget:
                    end = None
                    break
                if self._is_stale(broadcast, device):
                    stale += 1
                else:
                    self._push(broadcast, device)
                    sent, budget = sent + 1, budget - 1
                partition.key = device.token_hash
        if end is None:
            entry["k_after"] = base64url(partition.key)
        entry |= {"sent": sent, "stale": stale} | ({"end": end} if end else {})
        self.passes.append(entry)
        if end:
            partition.next, partition.joined_below, partition.key = offset + 1, None, None
        return budget

    def _leaves(self, partition, record):
        return any(each.key == record.key and each.value is None for each in partition.log[record.offset + 1 :])

    def _catch_up(self, partition, record, audience, device):
        below = partition.next + (partition.joined_below is not None)
        missed = [
            offset
            for offset in range(below)
            if self._is_current(offset)
            and (broadcast := self.outcomes[offset].broadcast) is not None
            and broadcast.audience == audience
            and broadcast.expires_at > self.clock
        ]
        for offset in missed[-MAX_LATE:]:
            # The one below which nothing is left is that of the pass that is under way.
            is_over = offset < partition.next and self.records[offset].timestamp < record.timestamp
            if rotated_at(record) is not None and is_over:
                continue
            if not self._is_stale(self.outcomes[offset].broadcast, device):
                self._push(self.outcomes[offset].broadcast, device)
                self.late[offset] += 1

    def _is_stale(self, broadcast, device):
        return device.last_seen is not None and broadcast.published_at - device.last_seen > SETTINGS.max_age_ms

    def _push(self, broadcast, device):
        renderer = Renderer(broadcast)
        headers = tuple((name, value.encode()) for name, value in renderer.headers_of(device).items())
        self.dispatch.append((device.token_hash.encode(), renderer.value_of(device).encode(), headers))

    def _refuse(self, partition, offset, outcome):
        if partition.number == 0:
            record = self.records[offset]
            named = {"topic": TOPIC, "partition": "0", "offset": str(offset)}
            named["exception.message"] = sorted(outcome.sentences or ["why"])[0]
            headers = tuple((f"__connect.errors.{name}", value.encode()) for name, value in named.items())
            code = (("x-error-code", sorted(outcome.dead_letter)[0].encode()),)
            self.letters.append((record.key, record.value, record.headers + headers + code))

    def _subject(self, partition, offset):
        broadcast = self.outcomes[offset].broadcast
        subject = {"partition": partition.number, "broadcast": offset}
        return subject | {"id": broadcast.notification_id, "message_id": broadcast.message_id}

    def _entry(self, partition, first):
        late = [self._subject(partition, offset) | {"sent": sent} for offset, sent in sorted(self.late.items())]
        place = {"topic": SUBSCRIPTIONS, "partition": partition.number}
        return {
            "v": 3,
            "group": GROUP,
            "cluster": None,
            "dispatch": DISPATCH,
            "ranges": [place | {"from": first, "to": partition.committed}],
            "broadcasts": len(self.records),
            "clock": self.clock,
            "passes": self.passes,
            "late": late,
            "skipped": self.skipped,
            "rules": "abc",
        }


def base64url(token_hash):
    return base64.urlsafe_b64encode(bytes.fromhex(token_hash)).decode().rstrip("=")


def journal_records(journal):
    """Two processes have the partitions: their entries are in different partitions of the journal."""
    offsets, records = collections.Counter(), []
    for timestamp, number, entry in journal:
        at = number % 2
        records.append(Record("journal", at, offsets[at], timestamp, b"i-0", json.dumps(entry).encode()))
        offsets[at] += 1
    return records


def a_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()
