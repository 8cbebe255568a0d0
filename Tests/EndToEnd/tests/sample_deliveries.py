"""Dispatch records, and what a right sender makes of them at a provider with faults."""

import collections
import json

from generator.dispatch import Pushes, is_dead
from generator.inputs import BASE_MS, compact
from model.deliveries import DeliveryRun
from model.partitions import murmur2_partition
from model.pushes import Request, push_of
from model.records import Record

TOPIC, RETRY = "dispatch", "dispatch.retry.1s"
PARTITIONS = 4
LATENCY_MS = 5
DEAD = 0.1
# The next attempt would be too late then.
LONGEST_WAIT_MS = 11_000


class SampleDeliveries:
    """Each device's pushes one after another: most are accepted at once, some after a 503, some whose answer was lost, some
    devices are dead, some pushes expire before they are sent or while they wait."""

    def __init__(self, count=800, devices=150):
        self.requests = []
        self.dispatch = self._dispatch(Pushes(5, devices).next(count, BASE_MS))
        self.pushes = [push_of(record) for record in self.dispatch]
        self.outcomes = []
        clocks = collections.defaultdict(lambda: BASE_MS + 100)
        for number, push in enumerate(self.pushes):
            clocks[push.device] = max(clocks[push.device], BASE_MS + number * 20)
            clocks[push.device] = self._send(number, push, clocks[push.device]) + 10

    def _dispatch(self, inputs):
        offsets, records = collections.Counter(), []
        for each in inputs:
            partition = murmur2_partition(each.key, PARTITIONS)
            records.append(Record(TOPIC, partition, offsets[partition], BASE_MS, *each))
            offsets[partition] += 1
        return records

    def _send(self, number, push, now):
        """Returns when it has ended."""
        if now >= push.expires:
            return self._end(push, "expired", [], max(now, push.expires))
        sent, kind = [], number % 40
        if kind in (1, 2):
            status, fault = (503, "unavailable") if kind == 1 else (200, "reset")
            sent.append(self._request(push, now, status, fault))
            if push.expires - now < LONGEST_WAIT_MS:
                return self._end(push, "gave_up", sent, now + 20, reason="UNAVAILABLE" if kind == 1 else "no_answer")
            is_advised = push.platform == "apns" and kind == 1 and push.expires - now > LONGEST_WAIT_MS + 1_000
            now += LONGEST_WAIT_MS if is_advised else 1_500
        if is_dead(push.device, DEAD):
            status, reason = (410, "Unregistered") if push.platform == "apns" else (404, "UNREGISTERED")
            sent.append(self._request(push, now, status, "dead", reason))
            return self._end(push, "dead_device", sent, now + 20, status=status, reason=reason, evidence=now)
        if kind == 3:
            sent.append(self._request(push, now, 403, "mismatch", "SENDER_ID_MISMATCH"))
            return self._end(push, "refused", sent, now + 20, status=403, reason="SENDER_ID_MISMATCH")
        sent.append(self._request(push, now, 200))
        return self._end(push, "accepted", sent, now + 20, status=200, provider_id=sent[-1].id)

    def _request(self, push, now, status, fault=None, reason=None):
        name = f"projects/p/messages/{len(self.requests)}" if status == 200 else None
        self.requests.append(
            Request(
                place=len(self.requests),
                time=now + LATENCY_MS,
                provider=push.platform,
                device=push.device,
                status=status,
                message=push.message,
                id=push.id or name,
                collapse=push.collapse,
                lifetime=push.lifetime or f"{(push.expires - now) // 1000}s",
                body=push.body,
                reason=reason or (None if status == 200 else "UNAVAILABLE"),
                fault=fault,
            )
        )
        return self.requests[-1]

    def _end(self, push, outcome, sent, now, **more):
        value = {
            "outcome": outcome,
            "topic": TOPIC,
            "partition": push.partition,
            "offset": push.offset,
            "message_id": push.message,
            "device": push.device,
            "platform": push.platform,
            **more,
            "attempts": len(sent),
        }
        if sent:
            value |= {"first_sent_at": sent[0].time - LATENCY_MS, "last_sent_at": sent[-1].time - LATENCY_MS}
        self.outcomes.append(Record("deliveries", push.partition, len(self.outcomes), now, push.device.encode(), compact(value)))
        return now

    def run(self):
        """A new one each time; what is in its lists and dictionaries can be changed."""
        ends = {(TOPIC, partition): 0 for partition in range(PARTITIONS)}
        for push in self.pushes:
            ends[TOPIC, push.partition] = push.offset + 1
        ends |= {(RETRY, partition): 9 for partition in range(PARTITIONS)}
        accepted = collections.Counter(each.message for each in self.requests if each.is_accepted)
        commit = f"v2 n={PARTITIONS} s=0"
        return DeliveryRun(
            topic=TOPIC,
            dispatch=list(self.dispatch),
            deliveries=list(self.outcomes),
            requests=list(self.requests),
            commits={provider: {place: (end, commit) for place, end in ends.items()} for provider in ("fcm", "apns")},
            ends=ends,
            possibly_twice=sum(count - 1 for count in accepted.values()),
            longest_wait=LONGEST_WAIT_MS,
            tolerance=1_000,
        )


def changed(record, **members):
    """An outcome's record with other members; None takes one out."""
    value = json.loads(record.value) | members
    return record._replace(value=compact({name: member for name, member in value.items() if member is not None}))
