"""`carillon render` over generated events, against the independent reading of the rules. No broker."""

import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
from typing import NamedTuple, Optional

from generator.events import Events, Mix
from generator.inputs import iso
from generator.names import Names
from generator.own_types import TYPE_NAMES, own_types
from generator.subscriptions import make_device, make_subscription, make_subscriptions, well_formed
from harness.harness import Harness
from harness.rendering import has_text_headers, records_of, render
from harness.seed import parse
from harness.waiting import Failure
from model.partitions import murmur2_partition
from model.records import Record, Settings
from model.verify import Run, verify


class Case(NamedTuple):
    name: str
    settings: Settings
    # For how long after the last record timers still fire; None: no timer fires.
    hours: Optional[int]
    flags: tuple = ()


def display_templates():
    """The example's texts, and languages more: what must be escaped, what is too large, and a default that lacks most texts."""
    templates = json.loads((pathlib.Path(__file__).parents[3] / "Examples/display.json").read_text())
    odd = {"title": '"{visible_id}" \\ \n{place_id}', "body": "\u2028😀 <{previous_status}> {new_status}"}
    templates["languages"] |= {
        "DA": {"order_created": odd, "order_status_changed": odd, "order_status_changed/processing": odd | {"body": ""}},
        "de": templates["languages"]["de"] | {"order_created@user": odd, "order_status_changed/picked@user": odd},
        "en": templates["languages"]["en"] | {"order_status_changed@channel": odd, "timeslot_started@channel": odd},
        "pt": {"order_status_changed": odd | {"title": "x" * 4000}},
        "nb_NO": {"unpicked_orders_reminder": odd},
    }
    return templates | {"default": "NB-no"}


AUDIENCES = {
    None: ["user/{customer.phone}", "place/{place_id}", "channel/{metadata.channel}", "user/{items[*].sku}"],
    # Those that are excerpts have no customer: dead letters.
    "order_status_changed": ["user/{customer.phone}", "channel/{metadata.note}"],
    "timeslot_started": ["channel/{place_id}", "place/{place_id}"],
    "order_ids_listed": ["place/{place_id}", "channel/{place.name}"],
}


def audience_flags():
    for event_type, templates in AUDIENCES.items():
        yield "--set"
        yield f"audiences{f'.{event_type}' if event_type else ''}={','.join(templates)}"


def make_customers(seed, made):
    """Subscriptions to some of what the orders name: customers, articles, channels. Some devices are in several."""
    chance = random.Random(f"customers {seed}")
    names = {"channel/web", "channel/Lager Süd"}
    for _, each in made:
        order = order_of(each.value)
        if chance.random() < 0.3 and "items" in order:
            names.add(f"user/{order['customer']['phone']}")
            names |= {f"user/{item['sku']}" for item in order["items"] if chance.random() < 0.2}
            if "place_id" in order:
                names.add(f"channel/{order['place_id']}")
    devices = [make_device(chance) for _ in range(200)]
    return [make_subscription(name, device, chance) for name in sorted(names) for device in chance.sample(devices, 2)]


def order_of(value):
    """The order of an event in its plain form, or an empty one."""
    try:
        event = json.loads(value)
        order = event.get("order", event)
        return order if isinstance(order, dict) and isinstance(order.get("customer"), dict) else {}
    except (AttributeError, RecursionError, TypeError, ValueError):
        return {}


CASES = (
    Case("no timer fires", Settings("Europe/Berlin"), None),
    # Much is forgotten meanwhile.
    Case(
        "a short memory",
        Settings("America/New_York", horizon_seconds=43_200, retention_seconds=3_600, spread_seconds=90),
        20,
        ("--set", "state.horizon=12h", "--set", "state.terminal-retention=1h", "--set", "schedule.spread=90s"),
    ),
    # Some hundred orders a partition.
    Case(
        "a small memory",
        Settings("Europe/Berlin", max_bytes=65_536),
        80,
        ("--set", "state.max-bytes=65536"),
    ),
    Case(
        "status changes from snapshots",
        Settings("Europe/Berlin", infer_status_changes=True),
        None,
        ("--set", "infer-status-changes=on"),
    ),
    Case("schedule=off", Settings("Europe/Berlin", schedule=False), None, ("--set", "schedule=off")),
    Case(
        "audiences of the settings",
        Settings(
            "Europe/Berlin",
            display=display_templates(),
            audiences=AUDIENCES,
        ),
        80,
        ("--set", "display=on", *audience_flags()),
    ),
    Case("display=on", Settings("Europe/Berlin", display=display_templates()), 80, ("--set", "display=on")),
)


def type_cases(seed):
    """Event types of the settings, with timers and without, and texts that are for them."""
    types, display = own_types(seed), display_templates()
    for name, each in types.items():
        members = "".join(f"<{{{path.split('.')[-1]}}}>" for path in each["members"])
        display["languages"]["en"][name] = {"title": f"{name} {{visible_id}}", "body": members}
    flags = ("--set", "dispatch.headers=event-type")
    headers = frozenset(["event-type"])
    zone = "Europe/Berlin"
    yield Case("types of the settings", Settings(zone, types=types, headers=headers), 80, flags)
    yield Case(
        "types of the settings, shown, without timers",
        Settings(zone, types=types, headers=headers, display=display, schedule=False),
        None,
        (*flags, "--set", "display=on", "--set", "schedule=off"),
    )


def title_of(record):
    """What a push shows; None where it is data only."""
    value = json.loads(record.value)
    notice = value["message"].get("notification") if "message" in value else value["payload"]["aps"].get("alert")
    return notice and notice["title"]


def check(harness, case, records, table):
    """The number of differences between what `carillon render` writes and what the rules say."""
    arguments = ["--time-zone", case.settings.time_zone, *case.flags]
    files = {
        "events.types": case.settings.types,
        "events.members": case.settings.members,
        "display.templates": case.settings.display,
    }
    with tempfile.TemporaryDirectory(prefix="carillon-render.") as folder:
        for setting, content in files.items():
            if content:
                path = pathlib.Path(folder, setting)
                path.write_text(json.dumps(content), "utf-8")
                arguments += ["--set", f"{setting}=@{path}"]
        return compare(harness, case, records, table, arguments)


def compare(harness, case, records, table, arguments):
    until = None
    if case.hours is not None:
        until = records[-1].timestamp + case.hours * 3_600_000
        arguments += ["--until", iso(until)]
    values = [each.value for each in table]
    output, again = (render(harness, records, values, *arguments) for _ in range(2))
    written = records_of(output)
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
    titles = {title_of(record) for record in written if record.topic == "notifications.dispatch"}
    if case.settings.display is None and titles != {None} or case.settings.display is not None and len(titles) < 20:
        report.add("other titles", f"{len(titles)} of them")
    print(f"{case.name}:")
    report.print()
    return len(report.differences), [record for record in written if record.topic == "notifications.dispatch"]


def check_names(harness, seed, records, table):
    """The same events under other names, with the mapping that has them: the same pushes, byte for byte."""
    names = Names(seed)
    renamed = [record._replace(value=names.rename(record).value) for record in records]
    usual = Case("known names", Settings("Europe/Berlin"), 80)
    mapped = Case("names by a mapping", Settings("Europe/Berlin", members=names.mapping), 80)
    differences, expected = check(harness, usual, records, table)
    more, found = check(harness, mapped, renamed, table)
    changed = sum(one.value != other.value for one, other in zip(records, renamed, strict=True))
    same = [each[4:] for each in expected] == [each[4:] for each in found]
    print(f"{changed} of {len(records)} events renamed; {len(expected)} pushes are {'the same' if same else 'OTHERS'}")
    return differences + more + (not same) + (changed < len(records) // 2)


def main():
    parser = argparse.ArgumentParser(prog="Tests/EndToEnd/run render", description=__doc__)
    parser.add_argument("--events", type=int, default=3_000)
    options = parse(parser)
    harness = Harness(options.seed, os.environ)
    places, subscriptions = make_subscriptions(options.seed, places=200, crowd=50)
    table = well_formed(subscriptions)
    events = Events(options.seed, places, Mix(poison_rate=0.02, snapshot_rate=0.2, own_types=TYPE_NAMES))
    made = [(events.now, each) for each in (events.next() for _ in range(options.events)) if has_text_headers(each)]
    table += make_customers(options.seed, made)
    records = [
        Record("orders.events", murmur2_partition(each.key or b"", 3), at, now, *each) for at, (now, each) in enumerate(made)
    ]
    try:
        differences = [check(harness, case, records, table)[0] for case in (*CASES, *type_cases(options.seed))]
        return 1 if sum(differences) + check_names(harness, options.seed, records, table) else 0
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
