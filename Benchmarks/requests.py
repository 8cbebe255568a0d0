"""What requests cost beside orders, on the same broker, in turn, measured as Benchmarks/bench.py does.

    Scripts/bench --requests [--events N] [--runs N]     250,000 orders, app notifications and messages, each with 3 devices
    Scripts/bench --flood [--requests N] [--rate N]      how long an order waits while a million requests are processed

Orders are measured twice: alone, and with an empty topic of requests beside them.
"""

import argparse
import hashlib
import itertools
import json
import os
import statistics
import sys
import time

from bench import show_medians, show_ratios
from bench_runs import Bench, add_backlog, devices_of, make_parser
from generator.inputs import Input, compact, subscription
from harness.harness import Harness
from harness.seed import seed_of_run
from harness.visibility import Visibility
from harness.waiting import Failure, wait_for
from programs import COPIES, carillon

AUDIENCES = 10_000
# Of a transaction, in milliseconds.
INTERVAL = 50
# A request of the past that is still valid: its expiry is of its own.
WHEN = {"requested_at": "2026-03-01T08:02:17Z", "expires_at": "2036-03-01T08:02:17Z"}


def place(number):
    return f"requested-{number % AUDIENCES:08}"


def app(number):
    return {
        "title": "New bill",
        "body": f"A bill over {number % 9000}.40 € of Crème fraîche GmbH was added and matched with your card.",
        "imageUrl": f"https://images.example.com/bills/{number % 100_000:06}/first-page.jpg",
        "data": {
            "type": "NewBill",
            "bill_matched_via_banking_card": True,
            "bill_id": f"B-{number:012}",
            "account_id": hashlib.md5(str(number).encode()).hexdigest(),
            "amount": {"value": number % 9000, "currency": "EUR"},
        },
    }


def message(number):
    return {
        "title": "Your parcel is on its way",
        "body": f"Jürgen brings parcel {number:012}. Tell him where to put it if you are away.",
        "category": "PARCEL",
        "sound": "default",
        "icon": "parcel",
        "badge": number % 9,
        "collapseKey": f"parcel-{number:012}",
        "extras": {"parcel_id": f"P-{number:012}", "stops_before": number % 40, "can_be_left": True},
    }


CONTENTS = {"app": app, "message": message}


def requests(kind, count):
    for number in range(count):
        to = f"place/{place(number)}"
        yield Input(
            to.encode(), compact({"request_id": f"{kind}-{number:012}", **WHEN, "audience": to, kind: CONTENTS[kind](number)})
        )


def devices():
    """Those of the audiences of requests."""
    for number in range(AUDIENCES):
        yield from devices_of(place(number), number)


class Costs(Bench):
    """One topic of orders and one of each kind of request, and an empty one of each."""

    def load(self):
        super().load()
        self.topics = {kind: f"{self.name}.{kind}" for kind in (*CONTENTS, "none", "no-orders")}
        self.cluster.create_topics({topic: (self.options.partitions, {}) for topic in self.topics.values()})
        self.cluster.produce(self.table, devices())
        for kind in CONTENTS:
            self.cluster.produce(self.topics[kind], requests(kind, self.options.events))

    def programs(self):
        build, off = self.options.carillon, {"schedule": "off"}
        yield carillon(build, settings=off)
        yield carillon(build, "beside nothing", settings=off | {"topic.requests": self.topics["none"]})
        for kind, topic in ((kind, self.topics[kind]) for kind in CONTENTS):
            of_kind = {"topic.requests": topic, "topic.events": self.topics["no-orders"]}
            yield carillon(build, kind, topic, off | of_kind)

    def close(self):
        self.cluster.admin.delete_topics(list(self.topics.values()))
        super().close()


def measure_costs(options):
    bench = Costs(options)
    try:
        bench.load()
        programs = list(bench.programs())
        bench.measure(programs[0], 1, INTERVAL)  # Not counted: it warms up the broker's JIT compiler.
        found = bench.interleave(programs, 1, INTERVAL)
        show_medians(found, 1)
        for program in programs[1:]:
            show_ratios(found, program.name, "carillon")
    finally:
        bench.close()


def measure_flood(options):
    """An order now and then while the group has a backlog of requests: how long until its pushes can be read."""
    harness = Harness(seed_of_run(), os.environ)
    try:
        world = harness.make_world("flood", partitions=options.partitions, places=2, crowd=1)
        world.places = [f"flood-{number}" for number in range(100)]
        world.subscriptions = [
            subscription(place, f"device-{place}-{copy}", environment="production")
            for place in world.places
            for copy in range(COPIES)
        ] + list(devices())
        world.create_topics()
        topic = f"{world.name}.requests"
        world.cluster.create_topics({topic: (options.partitions, {})})
        # Fewer at a time than a producer's queue holds.
        every = requests("message", options.requests)
        while some := list(itertools.islice(every, 200_000)):
            world.cluster.produce(topic, some)
        daemon = world.daemon("a", world.settings("a", topic_requests=topic, workers=options.workers)).start()
        with Visibility(world, rate=options.rate, most=1_000_000) as visibility:
            wait_for("the first requests are processed", lambda: topic in visibility.first_entries, 60)
            wait_for(
                "the requests are processed",
                lambda: sum(world.cluster.committed(world.name, topic).values()) >= options.requests,
                600,
            )
            ended = time.monotonic()
        daemon.stop(60)
        pushes = sum(world.ends_of("dispatch").values())
        if pushes < COPIES * options.requests:
            raise Failure(f"{pushes:,} records in the dispatch topic, {COPIES * options.requests:,} are due")
        # Orders that were sent before have waited for the start.
        first = visibility.first_entries[topic]
        took = sorted(seconds for began, seconds in visibility.seconds if first <= began < ended)
        if len(took) < 100:
            raise Failure(f"only {len(took)} orders were sent during the flood")
        print(
            json.dumps(
                {
                    "requests": options.requests,
                    "seconds": round(ended - first, 2),
                    "orders meanwhile": len(took),
                    "ms until visible": {
                        "p50": round(statistics.median(took) * 1000),
                        "p99": round(took[len(took) * 99 // 100] * 1000),
                        "longest": round(took[-1] * 1000),
                    },
                },
                indent=2,
            )
        )
    finally:
        harness.close()


def main():
    parser = make_parser("Scripts/bench", __doc__.splitlines()[0])
    add_backlog(parser, 250_000)
    parser.add_argument("mode", choices=["cost", "flood"], help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, default=1_000_000, help="of the flood")
    parser.add_argument("--rate", type=int, default=200, help="orders a second beside the flood")
    parser.add_argument("--workers", type=int, default=1, help="beside the flood")
    parser.set_defaults(runs=5, places=AUDIENCES)
    options = parser.parse_args()
    try:
        {"cost": measure_costs, "flood": measure_flood}[options.mode](options)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
