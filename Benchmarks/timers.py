"""Measures how fast one worker processes orders, fires timers that are all due at the same moment, and folds the same orders
again, as after its checkpoint was lost. Each timer is one push.

    Scripts/bench --timers [ORDERS]

Times are the timestamps of the broker's records: for the timers from the first push to the last journal entry, for the events
from the journal's first entry to its last one before the timers. The second fold is timed by the lines of the process's log.
"""

import datetime
import itertools
import json
import os
import pathlib
import shutil
import sys
import time

from harness import timers
from harness.daemon import wait_for_daemons
from harness.harness import Harness
from harness.seed import seed_of_run
from harness.waiting import Failure, wait_for


def measure(harness, count):
    world = timers.make_schedule_world(harness, "timers", partitions=1)
    # Allows enough time to produce the events and to process them.
    at = timers.next_minute(20 + count // 5_000)
    began = time.monotonic()
    timers.produce(
        world,
        [
            timers.order_event(world, f"order-{index:08}", world.places[index % len(world.places)], start=at)
            for index in range(count)
        ],
    )
    print(f"{count:,} orders made in {time.monotonic() - began:.0f} s", flush=True)
    process = world.started()
    world.wait_until_done(600)
    if timers.now_ms() > at:
        raise Failure("the orders were not processed before their slot began")
    status = pathlib.Path(f"/proc/{process.process.pid}/status")
    # Control records count, too: one per transaction.
    wait_for("the timers have fired", lambda: sum(world.ends_of("dispatch").values()) >= 2 * count, 600)
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    process.stop(60)
    journal = [(record.timestamp, json.loads(record.value)) for record in world.cluster.read(world.topics["journal"])]
    ticks = [each for each in journal if each[1]["watermarks"][0]["after"] > each[1]["watermarks"][0]["before"]]
    events = [stamp for stamp, entry in journal if entry["ranges"][0]["to"] > entry["ranges"][0]["from"]]
    first = next(
        record.timestamp
        for record in world.cluster.stream(world.topics["dispatch"])
        if dict(record.headers)["source"].startswith(b"schedule/")
    )
    taken = (ticks[-1][0] - first) / 1000
    gaps = sorted(b - a for a, b in itertools.pairwise(events))
    print(
        f"{count:,} timers in {len(ticks)} transactions, {taken:.1f} s: {count / taken:,.0f} timers/s; the first "
        f"{first - at} ms after it was due"
    )
    print(
        f"the events of the orders: {count * 1000 / (events[-1] - events[0]):,.0f} events/s; the longest pause between two "
        f"commits {gaps[-1]} ms, the median {gaps[len(gaps) // 2]} ms; at most {peak // 1024} MB"
    )
    seconds = fold_again(world, process)
    print(f"the same orders folded again: {count / seconds:,.0f} events/s, in {seconds:.1f} s")
    process.stop(60)


def fold_again(world, process):
    """How long a start without the checkpoint of orders folds, in seconds."""
    shutil.rmtree(world.folder / "a" / "orders-0")
    process.start()
    ends = ("folds the state of orders up to", "the state of orders is complete")
    wait_for_daemons("the orders are folded again", lambda: process.has_line(ends[1]), [process], 600)
    lines = [next(line for line in process.log().splitlines() if end in line) for end in ends]
    began, ended = (datetime.datetime.strptime(line.split()[0], "%H:%M:%S.%f") for line in lines)
    return (ended - began).total_seconds()


if __name__ == "__main__":
    harness = Harness(seed_of_run(), os.environ)
    try:
        measure(harness, int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
    finally:
        harness.close()
