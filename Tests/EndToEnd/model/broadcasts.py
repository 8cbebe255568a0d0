"""Checks what `carillon broadcasts` wrote against what it had to write. Pure: records in, differences out.

- Every partition of the subscriptions is covered without a gap, and each broadcast has one pass over it, in the order of the log.
- A pass reaches the devices that were in its channel before it began and still are; who joins later gets what is valid, and each
  device a broadcast once for each time that it joins, unless it had left again before. A token that takes the place of another
  one gets what is published since, or under way, and nothing older.
- What is cancelled, replaced or expired is not sent any more, nor to a device that was last seen too long ago.
- A bad broadcast becomes one dead letter.

`broadcast_content` and `broadcast_messages` read and render broadcasts, `broadcast_log` has them in their order,
`broadcast_members` who is in the channels, `broadcast_journal` reads the journal, `broadcast_passes` follows it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from model.broadcast_journal import read_entries
from model.broadcast_log import BroadcastLog
from model.broadcast_members import Channels
from model.broadcast_passes import SLICE_MS, PartitionWalk
from model.expectation import Letter
from model.output import check_dead_letters
from model.partitions import murmur2_partition
from model.records import Settings
from model.report import Report


@dataclass
class BroadcastRun:
    """What one run read and wrote: records, in the order of their offsets within each partition."""

    settings: Settings
    subscriptions: list
    broadcasts: list
    # Read once.
    dispatch: Iterable
    dead_letters: list
    journal: list
    group: str
    subscriptions_topic: str
    dispatch_topic: str
    dispatch_partitions: int
    # By partition of the subscriptions: the offset of the first commit, and the one that has to be reached.
    starts: dict
    ends: dict
    # The offset of the broadcast at which the first commit stood.
    first_broadcast: int = 0
    # The setting broadcasts.max-late.
    max_late: int = 10
    # Which instances were stopped, from when and until when, in ms. Their transactions may go on afterwards.
    frozen: Iterable = ()
    # See SLICE_MS.
    slice_ms: int = SLICE_MS


def verify_broadcasts(run):
    """The differences between what was written and what follows from the broadcasts, the subscriptions and the journal."""
    report = Report()
    log, channels = BroadcastLog(run.broadcasts), Channels(run.subscriptions)
    entries = read_entries(run, report)
    walks = {partition: PartitionWalk(partition, run, log, channels, report) for partition in run.ends}
    for entry in entries:
        for partition in entry.ranges:
            walks[partition].take(entry)
    for walk in walks.values():
        walk.finish()
    expected = _by_identity(walks.values(), log)
    count = _check_dispatch(run, expected, log, channels, report)
    _check_letters(run, log, report)
    passes = [each for entry in entries for each in entry.passes]
    late = sum(each.sent for entry in entries for each in entry.late)
    report.counts |= {
        "dispatched": count,
        "to who joined": late,
        "joined after more than max-late": sum(walk.limited for walk in walks.values()),
        "not sent after a rotation": sum(walk.spared for walk in walks.values()),
        "broadcasts": len(log.published()),
        "passes": sum(each.devices is not None for each in passes),
        "slices": len(passes),
        "dead letters": len(run.dead_letters),
        "journal records": len(entries),
        "ms from an end to the last slice": max(walk.slowest_end for walk in walks.values()),
    } | {f"passes {end}": sum(each.end == end for each in passes) for end in ("cancelled", "expired")}
    return report


def _by_identity(walks, log):
    """The pushes that have to be there, in their order, by source, message id and hash of the token."""
    expected = {}
    for walk in walks:
        for push in walk.expected:
            broadcast = log.broadcast(push.broadcast)
            identity = (broadcast.record.source, broadcast.message_id, push.device.token_hash)
            expected.setdefault(identity, []).append(push)
    return expected


def _check_dispatch(run, expected, log, channels, report):
    """Compares the records of the dispatch topic with the pushes that are expected; returns how many there are."""
    seen, last, count = {}, {}, 0
    for record in run.dispatch:
        count += 1
        headers = {name: value.decode(errors="replace") if value is not None else None for name, value in record.headers}
        key = (record.key or b"").decode(errors="replace")
        identity = (headers.get("source"), headers.get("message-id"), key)
        pushes, at = expected.get(identity, ()), seen.get(identity, 0)
        seen[identity] = at + 1
        if at >= len(pushes):
            kind = "pushed twice" if pushes else _unexpected(identity, log, channels)
            report.add(kind, f"{record.source}: {identity}")
            continue
        push = pushes[at]
        renderer = log.renderers[push.broadcast]
        # Of two channels in one transaction either may come first.
        order = push.partition, renderer.broadcast.audience, key
        if last.get(order, (push.rank,))[0] > push.rank:
            report.add("order not kept", f"{record.source} ({identity}) comes after {last[order][1]}")
        last[order] = push.rank, record.source
        if record.value != (wanted := renderer.value_of(push.device).encode()):
            report.add("wrong value", f"{record.source}:\n      found    {record.value!r}\n      expected {wanted!r}")
        wanted = renderer.headers_of(push.device, run.settings.headers)
        if headers != wanted or len(record.headers) != len(wanted):
            report.add("wrong headers", f"{record.source}: {headers}, expected {wanted}")
        partition = murmur2_partition(record.key, run.dispatch_partitions)
        if record.partition != partition:
            report.add("wrong partition", f"{record.source}: murmur2 of the key gives {partition}")
    for identity, pushes in expected.items():
        for push in pushes[seen.get(identity, 0) :]:
            report.add("lost push", f"{identity}, by transaction {push.rank[0]} of partition {push.partition}")
    return count


def _unexpected(identity, log, channels):
    """What is wrong with a push that should not be there at all."""
    source, message_id, token_hash = identity
    for renderer in log.renderers.values():
        if (renderer.broadcast.record.source, renderer.broadcast.message_id) == (source, message_id):
            is_known = channels.knows(renderer.broadcast.audience, token_hash)
            return "pushed to a device that must not get it" if is_known else "pushed to a device of no such channel"
    return "unexpected push"


def _check_letters(run, log, report):
    """A bad broadcast that was replaced may have been so before anybody looked at it."""
    found = {_letter_source(record) for record in run.dead_letters}
    letters = {
        log.records[at].source: Letter(log.records[at], each.dead_letter, each.sentences)
        for at, each in log.outcomes.items()
        if each.dead_letter and at >= run.first_broadcast and (at not in log.replaced_by or log.records[at].source in found)
    }
    check_dead_letters(run.dead_letters, letters, report)


def _letter_source(record):
    named = {name: (value or b"").decode(errors="replace") for name, value in record.headers}
    return "/".join(named.get(f"__connect.errors.{part}", "?") for part in ("topic", "partition", "offset"))
