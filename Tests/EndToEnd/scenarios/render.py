"""`carillon render` over generated events, against the independent reading of the rules. No broker."""

import argparse
import base64
import json
import pathlib
import random
import sys
import tempfile
from typing import NamedTuple, Optional

from generator.events import Events, Mix
from generator.inputs import iso
from generator.subscriptions import make_subscriptions
from harness.daemon import run
from model.partitions import murmur2_partition
from model.records import Record, Settings
from model.verify import Run, verify


def envelope(record):
    """The line that `kcat -J` prints, with `payload_base64` where the bytes are no UTF-8."""
    line = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": "create",
        "ts": record.timestamp,
        "broker": 1,
    }
    if record.headers:
        line["headers"] = [
            part if part is None else part.decode() for name, value in record.headers for part in (name.encode(), value)
        ]
    for name, value in (("key", record.key), ("payload", record.value)):
        try:
            line[name] = None if value is None else value.decode()
        except UnicodeDecodeError:
            line[name + "_base64"] = base64.b64encode(value).decode()
    return json.dumps(line, ensure_ascii=False)


def opened(line, offset):
    value = json.loads(line)

    def part(name):
        if name + "_base64" in value:
            return base64.b64decode(value[name + "_base64"])
        return None if value.get(name) is None else value[name].encode()

    names = value.get("headers") or []
    headers = tuple((name, None if each is None else each.encode()) for name, each in zip(names[::2], names[1::2]))
    key = part("key")
    partition = murmur2_partition(key or b"", 1)
    return Record(value["topic"], partition, offset, 0, key, part("payload"), headers)


def has_text_headers(each):
    try:
        return [value.decode() for _, value in each.headers if value is not None] is not None
    except UnicodeDecodeError:
        return False


class Case(NamedTuple):
    name: str
    settings: Settings
    # How long after the last record timers still fire; None: none does.
    hours: Optional[int]
    flags: tuple = ()


CASES = (
    Case("no timer fires", Settings("Europe/Berlin"), None),
    Case("timers, as they are due", Settings("Europe/Berlin"), 80),
    # Much is forgotten meanwhile.
    Case(
        "a short memory",
        Settings("America/New_York", horizon_seconds=43_200, retention_seconds=3_600, spread_seconds=90),
        20,
        ("--set", "state.horizon=12h", "--set", "state.terminal-retention=1h", "--set", "schedule.spread=90s"),
    ),
    Case(
        "status changes from snapshots",
        Settings("Europe/Berlin", infer_status_changes=True),
        None,
        ("--set", "infer-status-changes=on"),
    ),
    Case("schedule=off", Settings("Europe/Berlin", schedule=False), None, ("--set", "schedule=off")),
)


def check(case, folder, records, table):
    """The differences between what `carillon render` writes and what the rules say."""
    arguments = ["render", "--time-zone", case.settings.time_zone, "--subscriptions", folder / "subscriptions.jsonl", *case.flags]
    until = None
    if case.hours is not None:
        until = records[-1].timestamp + case.hours * 3_600_000
        arguments += ["--until", iso(until)]
    code, output, errors = run(*arguments, folder / "events.jsonl", timeout=120)
    again = run(*arguments, folder / "events.jsonl", timeout=120)[1]
    if code != 0:
        print(f"FAILED: carillon render ended with {code}: {errors[-2000:]}")
        return 1
    written = [opened(line, at) for at, line in enumerate(output.splitlines())]
    report = verify(
        Run(
            settings=case.settings,
            events=records,
            subscriptions=[Record("subscriptions", 0, at, 0, *each) for at, each in enumerate(table)],
            dispatch=[record for record in written if record.topic == "notifications.dispatch"],
            dead_letters=[record for record in written if record.topic == "notifications.dead-letters"],
            journal=[],
            dispatch_partitions=1,
            until=until,
        )
    )
    if again != output:
        report.add("not pure", "the same input gave other bytes at the second time")
    print(f"{case.name}:")
    report.print()
    return len(report.differences)


def main():
    parser = argparse.ArgumentParser(prog="render", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a random one")
    parser.add_argument("--events", type=int, default=3_000)
    options = parser.parse_args()
    print(f"seed {options.seed}: render --seed {options.seed} --events {options.events}", flush=True)
    places, subscriptions = make_subscriptions(options.seed, places=200, crowd=50)
    # A file of subscriptions holds values; the ones that unsubscribe or are broken are for the topic.
    table = [each for each in subscriptions if each.value and each.value.endswith(b"}")]
    events = Events(options.seed, places, Mix(poison_rate=0.02, snapshot_rate=0.2))
    made = [(events.now, each) for each in (events.next() for _ in range(options.events)) if has_text_headers(each)]
    records = [
        Record("orders.events", murmur2_partition(each.key or b"", 3), at, now, *each) for at, (now, each) in enumerate(made)
    ]
    with tempfile.TemporaryDirectory(prefix="carillon-render.") as name:
        folder = pathlib.Path(name)
        (folder / "subscriptions.jsonl").write_bytes(b"".join(each.value + b"\n" for each in table))
        (folder / "events.jsonl").write_text("".join(envelope(record) + "\n" for record in records), "utf-8")
        return 1 if sum([check(case, folder, records, table) for case in CASES]) else 0


if __name__ == "__main__":
    sys.exit(main())
