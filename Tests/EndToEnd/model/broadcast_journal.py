"""What the journal of broadcasts says: for each transaction what it has read of the subscriptions, and what it has sent."""

import base64
import json
from typing import NamedTuple, Optional

ENDS = ("done", "cancelled", "expired", "failed")
REASONS = ("expired", "dead_letter")
# The members of an entry.
ENTRY = {"v", "group", "cluster", "dispatch", "ranges", "broadcasts", "clock", "passes", "late", "skipped", "rules"}


class Slice(NamedTuple):
    """A part of a pass. Hashes are 64 hex digits, which have the order of their bytes."""

    partition: int
    broadcast: int
    # Of the broadcast; None only where the pass was cancelled.
    identity: Optional[str]
    message_id: Optional[str]
    joined_below: int
    before: Optional[str]
    after: Optional[str]
    # Only of the first slice of a pass.
    devices: Optional[int]
    sent: int
    stale: int
    end: Optional[str]


class Late(NamedTuple):
    """What those who joined in one partition got of a broadcast."""

    partition: int
    broadcast: int
    identity: str
    message_id: str
    sent: int


class Skip(NamedTuple):
    """A broadcast that got no pass."""

    partition: int
    broadcast: int
    identity: Optional[str]
    reason: str


class Entry(NamedTuple):
    """One transaction."""

    # Its place in the order of the transactions.
    number: int
    # Where the journal has it, whose it is, and since when.
    place: str
    slot: str
    timestamp: int
    # By partition of the subscriptions: what was committed before, and what is now.
    ranges: dict
    # By partition: below this offset it was known who leaves.
    known: dict
    # Every broadcast below this offset was known.
    view: int
    # What has expired is decided by it.
    clock: int
    passes: list
    late: list
    skipped: list


def read_entries(run, report):
    """The entries in the order of their transactions. Those of one process are in one partition of the journal; of two, the one
    that came later is the later one, since a partition changes its owner only when nothing is open any more."""
    entries = []
    for record in sorted(run.journal, key=lambda record: (record.timestamp, record.partition, record.offset)):
        try:
            entries.append(_entry(record, len(entries), run))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            report.add("journal record not readable", f"{record.source}: {error!r}")
    return entries


def _entry(record, number, run):
    value = json.loads(record.value)
    if value.keys() != ENTRY:
        raise ValueError(f"members {', '.join(value)}")
    wanted = {"v": 3, "group": run.group, "dispatch": run.dispatch_topic}
    for name, each in wanted.items():
        if value[name] != each:
            raise ValueError(f"{name} is {value[name]!r}, expected {each!r}")
    if not value["rules"] or not record.key:
        raise ValueError("without rules or key")
    ranges, known = {}, {}
    for each in value["ranges"]:
        if each["topic"] != run.subscriptions_topic or each["partition"] in ranges or each["to"] < each["from"]:
            raise ValueError(f"range {each}")
        ranges[each["partition"]] = each["from"], each["to"]
        known[each["partition"]] = each.get("ahead", each["to"])
        if known[each["partition"]] < each["to"]:
            raise ValueError(f"range {each}")
    entry = Entry(
        number=number,
        place=f"{record.source} of {record.key.decode()}",
        slot=record.key.decode(),
        timestamp=record.timestamp,
        ranges=ranges,
        known=known,
        view=value["broadcasts"],
        clock=value["clock"],
        passes=[_slice(each) for each in value["passes"]],
        late=[Late(*_subject(each), each["sent"]) for each in value["late"]],
        skipped=[Skip(each["partition"], each["broadcast"], each.get("id"), each["reason"]) for each in value["skipped"]],
    )
    for each in (*entry.passes, *entry.late, *entry.skipped):
        if each.partition not in ranges:
            raise ValueError(f"partition {each.partition} without a range")
    if any(each.reason not in REASONS for each in entry.skipped):
        raise ValueError("an unknown reason")
    return entry


def _subject(value):
    return value["partition"], value["broadcast"], value["id"], value["message_id"]


def _slice(value):
    end = value.get("end")
    if end is not None and end not in ENDS:
        raise ValueError(f"the end {end!r}")
    if end is None and "k_after" not in value:
        raise ValueError("a slice with neither k_after nor an end")
    return Slice(
        partition=value["partition"],
        broadcast=value["broadcast"],
        identity=value.get("id") if end == "cancelled" else value["id"],
        message_id=value.get("message_id") if end == "cancelled" else value["message_id"],
        joined_below=value["s"],
        before=_hash(value.get("k_before")),
        after=_hash(value.get("k_after")),
        devices=value.get("devices"),
        sent=value["sent"],
        stale=value["stale"],
        end=end,
    )


def _hash(text):
    """The 64 hex digits of a hash in base64url; None for none."""
    if text is None:
        return None
    data = base64.b64decode(text + "=", altchars=b"-_", validate=True)
    if len(data) != 32:
        raise ValueError(f"{text!r} is no hash")
    return data.hex()
