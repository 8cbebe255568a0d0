"""`carillon render` over generated requests, against the independent reading of the rules, byte for byte. No broker."""

import argparse
import os
import random
import sys
from collections import Counter
from typing import NamedTuple

from generator.inputs import BASE_MS, compact, subscription_key
from generator.requests import Requests
from harness.harness import Harness
from harness.rendering import has_text_headers, records_of, render
from harness.waiting import Failure
from model.partitions import murmur2_partition
from model.records import Record, RequestSettings, Settings
from model.request_messages import pushes_of
from model.subscriptions import Subscriptions

TOPIC = "notifications.requests"


class Case(NamedTuple):
    name: str
    settings: RequestSettings
    flags: tuple = ()


CASES = (
    Case("the defaults", RequestSettings()),
    Case(
        "every setting",
        RequestSettings(ttl_seconds=3_600, unknown_types="dead-letter", notification_count=True, ignore_valid_until=True),
        (
            "--set",
            "requests.ttl=1h",
            "--set",
            "requests.unknown-types=dead-letter",
            "--set",
            "requests.notification-count=on",
            "--set",
            "requests.compat-ignore-valid-until=on",
        ),
    ),
)


def make_table(chance, audiences, now):
    """Values of subscriptions, of both platforms; some devices are in several audiences, some were not seen for a year."""
    table = []
    for number in range(3 * len(audiences)):
        is_apple = chance.random() < 0.4
        token = f"{number:08x}" if is_apple else f"made-up-token-{number}"
        for audience in chance.sample(audiences, chance.randrange(1, 3)):
            seen = now - (400 if chance.random() < 0.05 else 1) * 86_400_000
            table.append(
                {
                    "audience": audience,
                    "token": token,
                    "platform": "apns" if is_apple else "fcm",
                    "app": "com.example.shop",
                    "environment": "production",
                    "last_seen_at": seen,
                }
            )
    return table


def expected(record, subscriptions, settings, clock, position=None):
    """What the rules make of one record: the pushes by key, or the codes of its dead letter."""
    pushes, outcome = pushes_of(record, subscriptions, settings, clock, position)
    sent = {push.device.token_hash.encode(): (push.value.encode(), push.headers) for push in pushes}
    return sent, outcome.dead_letter


def found(records):
    """What was written, by the source of each record: the pushes by key, and the codes of dead letters."""
    sent, dead = {}, {}
    for record in records:
        headers = {name: value.decode() for name, value in record.headers if value is not None}
        if "message-id" in headers and "x-error-code" not in headers:
            pushes = sent.setdefault(headers["source"], {})
            if record.key in pushes:
                raise Failure(f"{headers['source']}: two records for one device")
            pushes[record.key] = (record.value, headers)
        else:
            place = "/".join(headers["__connect.errors." + name] for name in ("topic", "partition", "offset"))
            dead[place] = headers["x-error-code"]
    return sent, dead


def check(harness, case, records, table):
    """The number of differences between what `carillon render` writes and what the rules say."""
    settings = Settings(requests=case.settings)
    subscriptions = Subscriptions(
        [
            Record("subscriptions", 0, at, 0, subscription_key(each["audience"], each["token"]), compact(each))
            for at, each in enumerate(table)
        ]
    )
    arguments = ["--set", f"topic.requests={TOPIC}", *case.flags]
    output, again = (render(harness, records, [compact(each) for each in table], *arguments) for _ in range(2))
    sent, dead = found(records_of(output))
    differences, count = [], Counter()
    for record in records:
        pushes, codes = expected(record, subscriptions, settings, clock=record.timestamp)
        count["pushes"] += len(pushes)
        count["dead letters"] += codes is not None
        if sent.pop(record.source, {}) != pushes:
            differences.append(f"{record.source}: other pushes than the rules say for {record.value!r}")
        code = dead.pop(record.source, None)
        if (code is None) != (codes is None) or codes is not None and code not in codes:
            differences.append(f"{record.source}: dead letter {code}, by the rules {codes}: {record.value!r}")
    differences += [f"{source}: is no record that was given" for source in [*sent, *dead]]
    if again != output:
        differences.append("the same input gave other bytes at the second time")
    print(f"{case.name}: {len(records):,} requests, {count['pushes']:,} pushes, {count['dead letters']:,} dead letters")
    for difference in differences[:5]:
        print(f"   {difference[:900]}")
    if not count["pushes"] or not count["dead letters"]:
        raise Failure("nothing was compared")
    return len(differences)


def main():
    parser = argparse.ArgumentParser(prog="requests", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a random one")
    parser.add_argument("--requests", type=int, default=5_000)
    options = parser.parse_args()
    print(f"seed {options.seed}: requests --seed {options.seed} --requests {options.requests}", flush=True)
    harness = Harness(options.seed, os.environ)
    chance = random.Random(f"audiences {options.seed}")
    audiences = [f"{kind}/{number}" for kind in ("user", "place", "channel") for number in range(20)]
    table = make_table(chance, audiences, BASE_MS)
    source = Requests(options.seed, [*audiences, "user/nobody"], bad_rate=0.1)
    made = [(source.now, each.input) for each in (source.next() for _ in range(options.requests)) if has_text_headers(each.input)]
    records = [Record(TOPIC, murmur2_partition(each.key or b"", 3), at, now, *each) for at, (now, each) in enumerate(made)]
    try:
        return 1 if sum([check(harness, case, records, table) for case in CASES]) else 0
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
