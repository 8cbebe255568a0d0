"""What a pipeline has to write for requests: the pushes and dead letters that follow from them, from the subscriptions, and from
the clock and the position of the table that the journal has for each transaction."""

import collections

from model.expectation import Letter, covering
from model.request_messages import pushes_of
from model.request_repeats import Repeats


class RequestExpectation:
    def __init__(self):
        # By source, message id and hash of the token: the record, and the push.
        self.pushes = {}
        # By source.
        self.letters = {}
        # The requests that give neither: the reason, by source.
        self.suppressed = {}
        # The audiences of a request, by source.
        self.audiences = {}
        self.repeats = Repeats()

    def take(self, record, table, settings, span):
        """The next record of a partition. Without a journal the clock is the time of the record, and the table has
        everything."""
        clock, position = (span.clock, span.table) if span else (record.timestamp, None)
        pushes, outcome = self.repeats.applied(record, pushes_of(record, table, settings, clock, position), clock)
        self.audiences[record.source] = outcome.audiences
        if outcome.dead_letter:
            self.letters[record.source] = Letter(record, outcome.dead_letter, outcome.sentences)
        elif outcome.suppressed:
            self.suppressed[record.source] = outcome.suppressed
        for push in pushes:
            self.pushes[record.source, push.headers["message-id"], push.device.token_hash] = record, push


def make_request_expectation(run, table, ledger, report):
    """The expectation of all requests of a run; its counts go into the report."""
    expectation = RequestExpectation()
    span_of = {place: covering(spans) for place, spans in ledger.items()}
    for record in run.requests:
        find = span_of.get((record.topic, record.partition))
        expectation.take(record, table, run.settings, find and find(record.offset))
    if run.requests:
        reasons = collections.Counter(expectation.suppressed.values())
        report.counts |= {
            "requests": len(run.requests),
            "expected pushes of requests": len(expectation.pushes),
            "dead letters of requests": len(expectation.letters),
        } | {f"requests {reason}": count for reason, count in sorted(reasons.items())}
    return expectation
