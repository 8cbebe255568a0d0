"""A small input of requests, and the right output for it."""

import collections

from generator.inputs import DAY_MS, Input, compact, subscription_key
from generator.requests import Requests
from generator.subscriptions import SubscriptionChanges, make_audiences
from model.orders import stored_hash
from model.partitions import murmur2_partition
from model.records import Record, Settings
from model.request_messages import Push, headers_of, pushes_of, value_of
from model.request_repeats import Repeats
from model.requests import outcome_of
from model.subscriptions import Subscriptions

SETTINGS = Settings(headers=frozenset(("event-type",)))
TOPIC = "notifications.requests"
PARTITIONS = 6
SEED = 20260302
REQUESTS = 600
START_MS = 1_772_352_000_000
MAX_TABLE_AGE_MS = 5_000
# From the time of a request to the clock of its transaction.
DELAY_MS = 700


class SampleRequested:
    """A request and a change of subscriptions a second, each request in a transaction of its own."""

    def __init__(self):
        audiences, subscriptions = make_audiences(SEED, ["a", "b", "c"], 30, START_MS)
        # Whose only device was last seen too long ago.
        audiences.append("user/asleep")
        asleep = {"audience": "user/asleep", "token": "asleep", "platform": "fcm", "app": "com.example.shop"}
        value = compact(asleep | {"environment": "production", "last_seen_at": START_MS - 400 * DAY_MS})
        subscriptions.append(Input(subscription_key("user/asleep", "asleep"), value))
        source = Requests(SEED, audiences, bad_rate=0.1, brief_rate=0.2)
        changes = SubscriptionChanges(SEED, ["a", "b", "c"], subscriptions, audiences, START_MS)
        self.frozen = len(subscriptions)
        subscriptions = subscriptions + [changes.next() for _ in range(REQUESTS)]
        self.table = [
            Record("subscriptions", 0, at, START_MS + max(0, at - self.frozen + 1) * 1000, *each)
            for at, each in enumerate(subscriptions)
        ]
        self.subscriptions = Subscriptions(self.table)
        self.ends, self.repeats = collections.Counter(), Repeats()
        # A push of a request that was sent before.
        self.repeated = None
        self.records, self.dispatch, self.letters, self.journal = [], [], [], []
        # What must not be sent: to a device that has unsubscribed, and what has expired.
        self.unsubscribed = self.expired = None
        # A push, and what it would be by another audience of the list.
        self.second_audience = None
        # Of the requests that have expired.
        self.expiries = {}
        for number in range(REQUESTS):
            self.position, self.now = [self.frozen + number + 1], START_MS + number * 1000
            self._take(source.next(self.now).input)

    def _take(self, each):
        partition = murmur2_partition(each.key or b"", PARTITIONS)
        record = Record(TOPIC, partition, self.ends[partition], self.now, *each)
        self.ends[partition] += 1
        self.records.append(record)
        clock = self.now + DELAY_MS
        self.journal.append(self._entry(record, clock))
        alone = self._pushes(record, clock, self.position)
        pushes, outcome = self.repeats.applied(record, alone, clock)
        if alone[0] and not pushes:
            self.repeated = written(alone[0][0])
            return
        if outcome.dead_letter:
            self._refuse(record, outcome)
        self.dispatch += [written(push) for push in pushes]
        if outcome.suppressed == "expired":
            self.expiries[record] = outcome_of(record, SETTINGS, 0).request.expiry
            late, _ = self._pushes(record, 0, self.position)
            self.expired = self.expired or (written(late[0]) if late else None)
        reached = {push.device.token_hash for push in pushes}
        before, _ = self._pushes(record, clock, [self.frozen])
        gone = [push for push in before if push.device.token_hash not in reached]
        if gone and not outcome.dead_letter:
            self.unsubscribed = written(gone[0])
        self.second_audience = self.second_audience or self._by_second_audience(record, pushes, clock)

    def _by_second_audience(self, record, pushes, clock):
        request = outcome_of(record, SETTINGS, clock).request
        for push in pushes if len(request.audiences if request else ()) > 1 else ():
            for audience in request.audiences:
                for device in self.subscriptions.at(audience, self.position):
                    if device.token_hash == push.device.token_hash and audience != push.audience and device.app != push.device.app:
                        headers = headers_of(request, device, audience, SETTINGS.headers)
                        other = Push(device, audience, value_of(request, device, SETTINGS), headers)
                        return written(push), written(other)
        return None

    def _pushes(self, record, clock, position):
        return pushes_of(record, self.subscriptions, SETTINGS, clock, position)

    def _refuse(self, record, outcome):
        named = {"topic": record.topic, "partition": str(record.partition), "offset": str(record.offset)}
        named["exception.message"] = sorted(outcome.sentences or ["why"])[0]
        ours = tuple((f"__connect.errors.{name}", value.encode()) for name, value in named.items())
        code = (("x-error-code", sorted(outcome.dead_letter)[0].encode()),)
        self.letters.append((record.key, record.value, record.headers + ours + code))

    def _entry(self, record, clock):
        place = {"topic": record.topic, "partition": record.partition}
        first = {"offset": record.offset, "timestamp": record.timestamp, "key": stored_hash(record.key)}
        return {
            "v": 2,
            "group": "g",
            "cluster": "c",
            "dispatch": "dispatch",
            "ranges": [place | {"from": record.offset, "to": record.offset + 1, "first": first}],
            "watermarks": [place | {"before": 0, "after": 0}],
            "clock": clock,
            "table": self.position,
            "rules": "abc",
        }


def written(push):
    headers = tuple((name, value.encode()) for name, value in push.headers.items())
    return push.device.token_hash.encode(), push.value.encode(), headers
