"""What the oracles judge: records that `carillon render` writes for generated events, beside what they must be."""

import pathlib
import tempfile
from typing import NamedTuple

from generator.events import Events, Mix
from generator.inputs import DAY_MS, iso
from generator.subscriptions import make_subscriptions
from harness.daemon import run
from model.expectation import Expectation
from model.records import Device, Notification, Record, Settings
from model.subscriptions import Subscriptions
from scenarios import render


class Push(NamedTuple):
    """One record of the dispatch topic, and the notification and device that it is for."""

    record: Record
    notification: Notification
    device: Device


def render_records(records, subscriptions, *arguments):
    """The records that `carillon render` writes for records of orders.events; `subscriptions` are values."""
    with tempfile.TemporaryDirectory(prefix="carillon-oracles.") as folder:
        table, events = pathlib.Path(folder, "subscriptions.jsonl"), pathlib.Path(folder, "events.jsonl")
        table.write_bytes(b"".join(each + b"\n" for each in subscriptions))
        events.write_text("".join(render.envelope(record) + "\n" for record in records), "utf-8")
        code, output, errors = run("render", *arguments, "--subscriptions", table, events, timeout=120)
    if code != 0:
        raise AssertionError(f"carillon render ended with {code}: {errors[-2000:]}")
    return [render.opened(line, at) for at, line in enumerate(output.split("\n")[:-1])]


def expected(records, subscriptions, settings, until=None):
    """Every push that must come, by source, message id and hash of the token; of timers those that are due up to `until`."""
    expectation = Expectation(Subscriptions(subscriptions), settings, until)
    expectation.add_partition(records)
    return {identity: (notification, device) for identity, (_, notification, device, _) in expectation.pushes.items()}


def generated(seed, count, settings=Settings("Europe/Berlin"), *arguments):
    """Pushes for generated events in every envelope and spelling, none of them poison, and of the timers that follow."""
    places, subscriptions = make_subscriptions(seed, places=40, crowd=3)
    subscriptions = [each for each in subscriptions if each.value and each.value.endswith(b"}")]
    events = Events(seed, places, Mix(poison_rate=0))
    records = [Record("orders.events", 0, at, events.now, *events.next()) for at in range(count)]
    until = events.now + 4 * DAY_MS
    table = [Record("subscriptions", 0, at, 0, *each) for at, each in enumerate(subscriptions)]
    wanted = expected(records, table, settings, until)
    arguments += ("--time-zone", settings.time_zone, "--until", iso(until))
    written = render_records(records, [each.value for each in subscriptions], *arguments)
    found = []
    for record in written:
        headers = dict(record.headers)
        key = headers["source"].decode(), headers["message-id"].decode(), record.key.decode()
        found.append(Push(record, *wanted.pop(key)))
    assert not wanted, f"{len(wanted)} pushes were not written, the first for {next(iter(wanted))}"
    return found
