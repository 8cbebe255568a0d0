"""`carillon render` over generated requests, against the independent reading of the rules, byte for byte; and what the app of
Examples/receiving-app, which RECEIVING_APP names, understands of it. No broker."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

from generator.inputs import BASE_MS
from generator.requests import Requests
from generator.subscriptions import make_audiences
from harness.harness import Harness
from harness.rendering import has_text_headers, records_of, render
from harness.seed import parse
from harness.waiting import Failure
from model.partitions import murmur2_partition
from model.received import Number, received
from model.records import Record, RequestSettings, Settings
from model.request_messages import pushes_of
from model.request_repeats import Repeats
from model.requests import outcome_of
from model.subscriptions import Subscriptions
from model.verify import Run, verify

TOPIC = "notifications.requests"
LINKS = pathlib.Path(__file__).resolve().parents[3] / "Examples/document-3.properties"


class Case(NamedTuple):
    name: str
    settings: RequestSettings
    flags: tuple = ()
    headers: tuple = ()


CASES = (
    Case("the defaults", RequestSettings()),
    Case(
        "every setting",
        RequestSettings(
            ttl_seconds=3_600,
            unknown_types="dead-letter",
            notification_count=True,
            ignore_valid_until=True,
            audiences=("place/*", "user/*", "device/*", "channel/News"),
            apps=("com.example.shop", "com.example.app3"),
        ),
        (
            "--set",
            "requests.audiences=place/*,user/*,device/*,channel/News",
            "--set",
            "requests.apps=com.example.shop,com.example.app3",
            "--set",
            "requests.ttl=1h",
            "--set",
            "requests.unknown-types=dead-letter",
            "--set",
            "requests.notification-count=on",
            "--set",
            "requests.compat-ignore-valid-until=on",
            "--set",
            "dispatch.headers=event-type",
        ),
        ("event-type",),
    ),
)


def misunderstood(app, output, records, subscriptions, settings):
    """(pushes, differences) between what the receiving app understands of them and what was requested."""
    done = subprocess.run([app, "--json", "--links", LINKS], input=output.encode(), capture_output=True)
    if done.returncode:
        raise Failure(f"{app} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    lines = [json.loads(line, parse_int=Number, parse_float=Number) for line in done.stdout.splitlines()]
    known, count, differences, repeats = collections.defaultdict(collections.deque), 0, [], Repeats()
    for line in lines:
        known[line["device"]].append(line)
    for record in records:
        request = outcome_of(record, settings, record.timestamp).request
        for push in repeats.applied(record, pushes_of(record, subscriptions, settings, record.timestamp))[0]:
            count += 1
            found = known[push.device.token_hash].popleft() if known[push.device.token_hash] else None
            if found != (wanted := received(push, request)):
                differences.append(f"{record.source}: the app understands {found} and not {wanted} in {push.value}")
    if count != len(lines):
        differences.append(f"the app understands {len(lines)} pushes of {count}")
    return count, differences


def misexplained(harness, records, settings, arguments):
    """(problems, differences) between what `carillon render --explain` says is wrong with the requests and what the rules say."""
    wanted = {each.source: outcome_of(each, settings, each.timestamp).problems for each in records}
    bad = [each for each in records if wanted[each.source]]
    count, differences = 0, []
    for line in render(harness, bad, [], *arguments, "--explain").splitlines():
        explained = json.loads(line)["explain"]
        found = [(each["code"], each["pointer"], each["detail"]) for each in explained["problems"]]
        missed = wanted.pop(explained["source"])
        count += len(found)
        if set(found) != missed or len(set(found)) != len(found) or found[0][0] != explained["dead_letter"]:
            differences.append(f"{explained['source']}: {found} and not {sorted(missed)}")
    differences += [f"{each.source}: nothing" for each in bad if each.source in wanted]
    return count, differences


def check(harness, case, records, table, app):
    """The number of differences between what `carillon render` writes and what the rules say."""
    arguments = ["--set", f"topic.requests={TOPIC}", *case.flags]
    values = [each.value for each in table]
    output, again = (render(harness, records, values, *arguments) for _ in range(2))
    written = records_of(output)
    settings = Settings(requests=case.settings, headers=frozenset(case.headers))
    subscriptions = [Record("subscriptions", 0, at, 0, *each) for at, each in enumerate(table)]
    report = verify(
        Run(
            settings=settings,
            events=[],
            subscriptions=subscriptions,
            dispatch=[record for record in written if record.topic == "notifications.dispatch"],
            dead_letters=[record for record in written if record.topic == "notifications.dead-letters"],
            journal=[],
            dispatch_partitions=1,
            requests=records,
        )
    )
    if app:
        understood, wrong = misunderstood(app, output, records, Subscriptions(subscriptions), settings)
        report.counts["understood by the app"] = understood
        report.differences += [("misunderstood by the app", each) for each in wrong]
    if again != output:
        report.add("not pure", "the same input gave other bytes at the second time")
    problems, wrong = misexplained(harness, records, settings, arguments)
    report.counts["problems explained"] = problems
    report.differences += [("misexplained", each) for each in wrong]
    print(f"{case.name}:")
    report.print()
    for what in ("expected pushes of requests", "dead letters of requests", "requests duplicate"):
        if not report.counts.get(what):
            raise Failure(f"no {what}")
    return len(report.differences)


def main():
    parser = argparse.ArgumentParser(prog="Tests/EndToEnd/run requests", description=__doc__)
    parser.add_argument("--requests", type=int, default=5_000)
    options = parse(parser)
    harness = Harness(options.seed, os.environ)
    places = [f"place-{number}" for number in range(10)]
    audiences, table = make_audiences(options.seed, places, 40, BASE_MS)
    source = Requests(options.seed, audiences, bad_rate=0.1)
    made = [(source.now, each.input) for each in (source.next() for _ in range(options.requests)) if has_text_headers(each.input)]
    records = [Record(TOPIC, murmur2_partition(each.key or b"", 3), at, now, *each) for at, (now, each) in enumerate(made)]
    try:
        app = os.environ.get("RECEIVING_APP")
        return 1 if sum([check(harness, case, records, table, app) for case in CASES]) else 0
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
