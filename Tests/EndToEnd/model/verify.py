"""Checks what a pipeline wrote against what it had to write. Pure: records in, differences out.

The invariants have the numbers that the kinds of difference name:

- I1: no push is lost.
- I2: no push is sent twice.
- I3: the pushes of an order keep its order; those of requests keep the order of their partition for each device, and so
  that of their key.
- I4: every device that is subscribed where the journal says the table stood gets the push once; that of a request by the
  first of its audiences.
- I5: no other device does; the table neither goes back nor gets too old.
- I6: the table of a process is the fold of its topic.
- I7: the journal covers every input offset exactly once.
- I8: the timers that follow from the state of the orders and from the watermarks in the journal are sent, and no others;
  a watermark continues from where it stood, and is never ahead of the clock or of the log.
- I10: a transaction that nobody ends blocks its readers for a limited time only.

`journal` reads and checks the journal, `expectation` and `request_expectation` work out what had to be written, `output`
compares; `tables` is I6, `stalls` is I10.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Optional

from model.expectation import make_expectation
from model.journal import check_fingerprints, check_positions, check_watermarks, read_journal
from model.output import check_dead_letters, check_dispatch
from model.records import Settings
from model.report import Report
from model.request_expectation import make_request_expectation
from model.subscriptions import Subscriptions


@dataclass
class Run:
    """What one run of a pipeline read and wrote: records, in the order of their offsets within each partition."""

    settings: Settings
    events: list
    subscriptions: list
    # Read once.
    dispatch: Iterable
    dead_letters: list
    journal: list
    # The partitions of the dispatch topic.
    dispatch_partitions: int
    # By topic and partition of the events: the first and the next offset that the group has to have covered. Events before
    # the first offset only tell it about the past of the orders.
    starts: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)
    # A subscription that is older than this must count. None: all subscriptions were there before the first event, and count.
    max_table_age_ms: Optional[int] = None
    # Without a journal: up to when timers fire, each as soon as it is due by the timestamps of the records.
    until: Optional[int] = None
    # The timers that were due up to this moment must have fired, or been dropped for a reason.
    timers_until: Optional[int] = None
    # The records of the topic of requests, of which every one has to be covered.
    requests: list = field(default_factory=list)
    # The offsets were set by hand, which moves the watermarks too.
    is_set_by_hand: bool = False


def verify(run):
    """The differences between what was written and what follows from the events, the subscriptions and the journal."""
    report = Report()
    table = Subscriptions(run.subscriptions)
    ledger = read_journal(run, max(table.ends, default=-1) + 1, report)
    check_positions(ledger, run, table.ends, report)
    check_watermarks(ledger, run, report)
    check_fingerprints(ledger, [*run.events, *run.requests], report)
    expectation = make_expectation(run, table, ledger, report)
    requested = make_request_expectation(run, table, ledger, report)
    dispatched = check_dispatch(run, expectation, requested, table, report)
    check_dead_letters(run.dead_letters, expectation.letters | requested.letters, report)
    report.counts |= {"dispatched": dispatched, "dead letters": len(run.dead_letters), "journal records": len(run.journal)}
    return report
