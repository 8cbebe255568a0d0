"""What the oracles judge: records that `carillon render` writes for generated events, and what they must be."""

from typing import NamedTuple

from generator.events import Events, Mix
from generator.inputs import DAY_MS, iso
from generator.own_types import TYPE_NAMES
from generator.subscriptions import make_subscriptions, well_formed
from harness.rendering import records_of, render
from model.expectation import Expectation
from model.records import Device, Notification, Record
from model.subscriptions import Subscriptions


class Push(NamedTuple):
    """One record of the dispatch topic, and the notification and device that it is for."""

    record: Record
    notification: Notification
    device: Device


def expected(records, subscriptions, settings, until=None):
    """Every push that must come, by source, message id and hash of the token; of timers those that are due up to `until`."""
    expectation = Expectation(Subscriptions(subscriptions), settings, until)
    expectation.add_partition(records)
    return {identity: (notification, device) for identity, (_, notification, device, _) in expectation.pushes.items()}


def generated(harness, count, settings, *arguments):
    """Pushes for generated events in every envelope and spelling, none of them poison, and of the timers that follow."""
    seed = harness.seed
    places, subscriptions = make_subscriptions(seed, places=40, crowd=3)
    subscriptions = well_formed(subscriptions)
    events = Events(seed, places, Mix(poison_rate=0, own_types=TYPE_NAMES if settings.types else ()))
    records = [Record("orders.events", 0, at, events.now, *events.next()) for at in range(count)]
    until = events.now + 4 * DAY_MS
    table = [Record("subscriptions", 0, at, 0, *each) for at, each in enumerate(subscriptions)]
    wanted = expected(records, table, settings, until)
    arguments += ("--time-zone", settings.time_zone, "--until", iso(until))
    written = records_of(render(harness, records, [each.value for each in subscriptions], *arguments))
    found = []
    for record in written:
        if record.topic != "notifications.dispatch":
            continue
        headers = dict(record.headers)
        key = headers["source"].decode(), headers["message-id"].decode(), record.key.decode()
        found.append(Push(record, *wanted.pop(key)))
    assert not wanted, f"{len(wanted)} pushes were not written, the first for {next(iter(wanted))}"
    return found
