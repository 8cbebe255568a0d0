"""Whether decompression bombs that no setting bounds can stop all that a process reads: they are written into some partitions,
honest events beside them into all, and one process in a limit of memory is started again whenever it dies.

    Scripts/bench --hostile-bombs [--bombs N] [--size BYTES] [--bombed N] [--partitions N] [--memory MIB]

It says how often the process died, what it holds then, and whether each honest push of the other partitions was sent once.
"""

import argparse
import collections
import contextlib
import sys
import time

from generator.inputs import event_about, subscription
from harness.daemon import EXIT_DRAINED
from harness.prometheus import fetch
from harness.waiting import Failure, pause
from hostile_orders import PORT, run_in_memory, status

# How many honest events each partition has before the bombs, and behind them.
HONEST = 50


def write_honest(world, events, behind):
    for partition in range(world.partitions):
        orders = [
            {"id": f"{partition}-{behind}-{each}", "order_number": "1", "place_id": "honest", "status": "pending"}
            for each in range(HONEST)
        ]
        world.cluster.produce(events, [event_about(order, f"e{order['id']}") for order in orders], partition=partition)


def write_bombs(world, events, options):
    """Each is one record in a batch of its own, of one letter, in gzip."""
    settings = {"compression.type": "gzip", "message.max.bytes": 10**9, "linger.ms": 0, "queue.buffering.max.kbytes": 2**21 - 1}
    said = []
    for number in range(options.bombs):
        producer = world.cluster.producer(**settings)
        producer.produce(
            events, b"a" * options.size, b"bomb", number % options.bombed, on_delivery=lambda error, _: said.append(error)
        )
        producer.flush(120)
    if said != [None] * options.bombs:
        raise Failure(f"the broker did not take the bombs: {said}")


def held():
    """The lines of /ready that say what is held; nothing while the process does not answer."""
    try:
        _, _, body = fetch(f"http://127.0.0.1:{PORT}/ready")
    except OSError:
        return []
    return [line for line in body.splitlines() if " is held" in line]


def run_until_done(world, process):
    """Starts it whenever it dies, until what is not held is committed to its end: how often it died, and the most MiB."""
    deaths, peak, ends = 0, 0, world.ends
    process.start()
    while True:
        if not process.is_running:
            deaths += 1
            if deaths > 30:
                raise Failure("it has died 30 times")
            print(f"death {deaths}: {process.process.returncode}; committed {world.committed}", flush=True)
            process.start()
        with contextlib.suppress(OSError, StopIteration):
            peak = max(peak, status(process.process.pid))
        lines, now = held(), world.committed
        left = [each for each in ends if now.get(each) != ends[each]]
        if all(any(f".events/{each}/" in line for line in lines) for each in left):
            return deaths, peak
        pause(0.2)


def measure(harness, options, words):
    world = harness.make_world("bombs", partitions=options.partitions, places=2, crowd=1, schedule=False).create_topics()
    events = world.topics["events"]
    world.cluster.produce(world.topics["subscriptions"], [subscription("honest", "made-up")])
    write_honest(world, events, 0)
    write_bombs(world, events, options)
    write_honest(world, events, 1)
    print(f"{options.bombs} bombs of {options.size >> 20} MiB in {options.bombed} of {options.partitions} partitions", flush=True)
    process = world.daemon("a", world.settings("a", http=f"127.0.0.1:{PORT}"))
    process.arguments = words + process.arguments
    began = time.monotonic()
    deaths, peak = run_until_done(world, process)
    print(f"{deaths} deaths in {time.monotonic() - began:.0f} s; at most {peak} MiB; committed {world.committed}", flush=True)
    for line in held() or ["nothing is held"]:
        print(line.replace(world.name + ".", ""), flush=True)
    process.signal(15)
    if process.wait(60) != EXIT_DRAINED:
        raise Failure("it did not drain")
    sources = collections.Counter(dict(each.headers)["source"].decode() for each in world.cluster.read(world.topics["dispatch"]))
    twice = [source for source, count in sources.items() if count > 1]
    by_partition = collections.Counter(int(source.split("/")[1]) for source in sources)
    print(f"honest pushes by partition {dict(sorted(by_partition.items()))}, {len(twice)} of them twice", flush=True)
    whole = [by_partition[each] for each in range(options.bombed, options.partitions)]
    if twice or whole != [2 * HONEST] * (options.partitions - options.bombed):
        raise Failure("an honest push of another partition is missing, or one was sent twice")


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench --hostile-bombs", description=__doc__.split("\n\n")[0])
    parser.add_argument("--bombs", type=int, default=10)
    parser.add_argument("--size", type=int, default=300_000_000, help="bytes of a bomb, decompressed")
    parser.add_argument("--bombed", type=int, default=3, help="partitions with bombs")
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--memory", type=int, default=2_048, help="MiB that the process may use")
    options = parser.parse_args()
    return run_in_memory(options, measure)


if __name__ == "__main__":
    sys.exit(main())
