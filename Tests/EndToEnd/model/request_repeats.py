"""Which requests are sent already: an independent reading of docs/rules.md, section 8.10."""

import collections

from model.requests import RequestOutcome

DAY_SECONDS = 86_400
HOUR_MS = 3_600_000
MOST_IDS = 1_000_000


class Repeats:
    """What is known of the requests of each partition; takes every record, in the order of its partition."""

    def __init__(self, most_ids=MOST_IDS):
        self.most_ids = most_ids
        # By topic and partition: the newest time, and by key and id the second and the value of the last record, oldest first.
        self.newest = collections.Counter()
        self.known = collections.defaultdict(dict)

    def reason(self, record, outcome, clock=None):
        """Why a request is not sent, if it is a repeated one. `clock` is that of its transaction, where it is known."""
        place, time = (record.topic, record.partition), record.timestamp
        time = time if clock is None else min(time, clock + HOUR_MS)
        self.newest[place] = max(self.newest[place], time)
        if outcome.identity is None:
            return None
        second, known, identity = self.newest[place] // 1000, self.known[place], (record.key or b"", outcome.identity)
        before = known.pop(identity, None)
        known[identity] = second, record.value
        if len(known) > self.most_ids:
            del known[next(iter(known))]
        if before is None or second - before[0] >= DAY_SECONDS or outcome.is_put_back:
            return None
        return "duplicate" if before[1] == record.value else "duplicate_other_content"

    def applied(self, record, found, clock=None):
        """The pushes and the outcome of a record, where those `found` are what it would be by itself."""
        _, outcome = found
        reason = self.reason(record, outcome, clock)
        if reason is None:
            return found
        return [], RequestOutcome(suppressed=reason, notes=outcome.notes, audiences=outcome.audiences)
