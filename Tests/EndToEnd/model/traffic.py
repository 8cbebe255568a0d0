"""What an endpoint saw, beside the dispatch records and the outcomes: from its own log, whatever the sender says of itself."""

import collections
import json
from dataclasses import dataclass
from typing import Optional

from model.pushes import note_same_keys

# How late an endpoint may notice that a request is whole, in milliseconds.
SLACK = 1_000
# How long a sender waits for an answer.
TIMEOUT = 15_000
# The faults whose answer asks for a time, and for which one.
ASKING, RETRY_AFTER = {"later", "quota"}, 2_000
# How late a push may be sent.
LONGEST_WAIT = 3_000


@dataclass
class Seen:
    """A line of the endpoint's log. Times are in milliseconds since 1970; those that are None did not come."""

    n: int
    provider: str
    # Its head, its last byte, and the last byte of its answer.
    at: int
    whole: Optional[int]
    done: Optional[int]
    status: Optional[int]
    # Whether the endpoint has the push, also where its answer is lost.
    taken: bool
    # Whether the connection or the stream then ended with an error: the answer may not have arrived.
    broken: bool = False
    fault: Optional[str] = None
    reason: Optional[str] = None
    device: Optional[str] = None
    message: Optional[str] = None
    id: Optional[str] = None
    collapse: Optional[str] = None
    lifetime: Optional[str] = None


class Traffic:
    """The log while it grows: what was read once is not read again."""

    def __init__(self, path):
        self.path, self.position, self.known = path, 0, []

    def seen(self):
        """In the order in which the requests came. The last line may be written just now."""
        with open(self.path) as lines:
            lines.seek(self.position)
            while (line := lines.readline()).endswith("\n"):
                self.known.append(Seen(**json.loads(line)))
                self.position = lines.tell()
        return sorted(self.known, key=lambda each: each.n)


def by_message(seen):
    """The requests of each push, in the order in which they came."""
    requests = collections.defaultdict(list)
    for each in seen:
        requests[each.message].append(each)
    return requests


def check_requests(pushes, seen, report, disturbances=()):
    """Nothing after its expiry, and a push of a device begins when every request of the ones before it is over.

    `disturbances` are periods in which processes died or were frozen: what such a one had not committed is done again.
    """
    requests, before = by_message(seen), collections.defaultdict(list)
    for push in sorted(pushes, key=lambda each: (each.partition, each.offset)):
        sent = requests[push.message]
        if late := [each.whole - push.expires for each in sent if each.whole and each.whole > push.expires + SLACK]:
            report.add("after its expiry", f"{push.name}: {max(late)} ms")
        wrong = [each for each in before[push.device] if sent and (each.done or each.at) > sent[0].at]
        if wrong and not _is_disturbed(wrong, disturbances):
            report.add("out of order", f"{push.name}: {sent[0]} before the end of {wrong[0]}")
        before[push.device] += sent


def check_outcomes(pushes, deliveries, seen, report, disturbances=()):
    """One outcome for each push, which agrees with the endpoint."""
    requests, outcomes = by_message(seen), collections.defaultdict(list)
    for value in (json.loads(each.value) for each in deliveries):
        outcomes[value["message_id"]].append(value["outcome"])
    counts = collections.Counter(pushes=len(pushes), requests=len(seen))
    for push in pushes:
        found, sent = outcomes.pop(push.message, []), requests[push.message]
        counts.update(found)
        counts["taken again"] += max(0, sum(each.taken for each in sent) - 1)
        if len(found) != 1:
            report.add("not one outcome", f"{push.name}: {found}")
        answered = [each for each in sent if each.taken and each.done]
        # All of these, or one at least.
        must, may = any(not each.broken for each in answered), bool(answered)
        if not must <= ("accepted" in found) <= may and not _is_disturbed(sent, disturbances):
            report.add("accepted, or not, unlike at the endpoint", f"{push.name}: {found}, {sent}")
    for message in outcomes:
        report.add("an outcome of no push", message)
    report.counts |= counts


def check_waits(pushes, seen, report, delay, disturbances=()):
    """A push is sent when it is its turn, whatever other devices wait for: when the ones of its device before it have ended, and
    again when the longest delay of a retry is over: its sender may count attempts that the endpoint has not seen. Times are in
    milliseconds; those of `disturbances` do not count.
    """
    requests, free, waits = by_message(seen), {}, []
    for push in sorted(pushes, key=lambda each: (each.partition, each.offset)):
        turn = max(push.timestamp, free.get(push.device, 0))
        for each in requests[push.message]:
            waits.append(each.at - turn - _overlap(turn, each.at, disturbances))
            if waits[-1] > LONGEST_WAIT:
                report.add("not when it is its turn", f"{push.name}: {waits[-1]} ms, {each}")
            free[push.device] = each.done or (each.at + TIMEOUT if each.fault == "silent" else each.whole or each.at)
            turn = free[push.device] + max(delay, RETRY_AFTER * (each.fault in ASKING))
    report.counts["ms the longest wait"] = max(waits, default=0)


def _overlap(start, end, periods):
    """How long some of the periods were within a time."""
    covered, reached = 0, start
    for first, last in sorted(periods):
        covered += max(0, min(last, end) - max(first, reached))
        reached = max(reached, last)
    return covered


def check_superseded(pushes, deliveries, seen, report):
    """When it is a push's turn and a newer one with the collapse key of its request waits, it ends as `superseded`; no other does
    (docs/rules.md, section 13). The newer one waits from its record, or a little later, to its own end."""
    requests, ends = by_message(seen), {}
    for record in deliveries:
        ends[json.loads(record.value)["message_id"]] = record
    note_same_keys(pushes)
    for push in pushes:
        sent, end = requests[push.message], ends.get(push.message)
        newer = [each for each in push.same_key if each.offset > push.offset]
        if end and json.loads(end.value)["outcome"] == "superseded":
            # The ends of a device's pushes are in one partition.
            if not any(
                each.timestamp <= end.timestamp and each.message in ends and ends[each.message].offset > end.offset
                for each in newer
            ):
                report.add("superseded by no newer push", push.name)
            if any(each.taken for each in sent):
                report.add("superseded, but taken", push.name)
            if end.timestamp > push.expires + SLACK:
                report.add("superseded, but expired", push.name)
        for request in sent:
            if any(each.timestamp <= request.at - SLACK and each.expires > request.at + SLACK for each in newer):
                report.add("sent although a newer push waited", f"{push.name}: {request}")


def _is_disturbed(requests, disturbances):
    return any(first <= each.at <= last for each in requests for first, last in disturbances)


def in_flight(seen, times):
    """How many requests were on their way at these times, together."""
    return sum(each.at <= time <= (each.done or each.at + SLACK) for time in times for each in seen)
