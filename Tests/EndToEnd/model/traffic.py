"""What an endpoint saw, beside the dispatch records and the outcomes: from its own log, whatever the sender says of itself."""

import collections
import json
from dataclasses import dataclass
from typing import Optional

# How late an endpoint may notice that a request is whole, in milliseconds.
SLACK = 1_000


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
        is_accepted = any(each.taken and each.done for each in sent)
        if ("accepted" in found) != is_accepted and not _is_disturbed(sent, disturbances):
            report.add("accepted, or not, unlike at the endpoint", f"{push.name}: {found}, {sent}")
    for message in outcomes:
        report.add("an outcome of no push", message)
    report.counts |= counts


def _is_disturbed(requests, disturbances):
    return any(first <= each.at <= last for each in requests for first, last in disturbances)


def in_flight(seen, times):
    """How many requests were on their way at these times, together."""
    return sum(each.at <= time <= (each.done or each.at + SLACK) for time in times for each in seen)
