"""Whether orders without end, with long texts, can stop a process: they are written, and one process works them off in a limit
of memory. It is killed three times on the way, and once its checkpoint is deleted, so that it folds all of them again.

    Scripts/bench --hostile-orders [--orders N] [--partitions N] [--id BYTES] [--text BYTES] [--memory MIB]

The limit is a control group's where one can be made, else of the process's data (RLIMIT_DATA). A process that does not live is a
failure.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import sys
import time

from generator.inputs import compact
from harness.daemon import wait_for_daemons
from harness.harness import Harness
from harness.prometheus import fetch
from harness.seed import seed_of_run
from harness.waiting import Failure, pause, wait_for

GROUPS = pathlib.Path("/sys/fs/cgroup")
PORT = 9464


@contextlib.contextmanager
def memory_limit(bytes_):
    """Words to put before the command line of a process, so that it may use no more than this."""
    version_1 = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if version_1 else GROUPS) / f"carillon-hostile-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(bytes_))
    except OSError:
        print("no control group can be made: the limit is of the process's data (RLIMIT_DATA)", flush=True)
        yield ["prlimit", f"--data={bytes_}", "--"]
        return
    try:
        # The shell enters the group before it becomes the process.
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"']
    finally:
        wait_for("the group is empty", lambda: not (group / "cgroup.procs").read_text(), 30)
        group.rmdir()


def write_orders(world, options):
    producer = world.cluster.producer(**{"compression.type": "zstd", "linger.ms": 100})
    text = "x" * options.text
    topic, began = world.topics["events"], time.monotonic()
    for number in range(options.orders):
        order = f"{number:08}".ljust(options.id, "i")
        body = {"id": order, "order_number": text, "place_id": f"p-{number % 100}", "status": "pending"}
        value = compact({"event_id": f"e{number}", "event_type": "ORDER_CREATED", "order": body})
        producer.produce(topic, key=order.encode(), value=value)
        if number % 10_000 == 0:
            while len(producer) > 100_000:
                producer.poll(0.1)
    if producer.flush(120):
        raise Failure("the orders were not delivered")
    print(f"{options.orders:,} orders written in {time.monotonic() - began:.0f} s", flush=True)


def status(pid):
    """The most resident memory so far, in MiB."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1_024


def metric(name):
    _, _, body = fetch(f"http://127.0.0.1:{PORT}/metrics")
    return next(float(line.split()[1]) for line in body.splitlines() if line.startswith(name + " "))


def measure(harness, options, words):
    world = harness.make_world("hostile", partitions=options.partitions, places=2, crowd=1).create_topics()
    write_orders(world, options)
    process = world.daemon("a", world.settings("a", http=f"127.0.0.1:{PORT}"))
    process.arguments = words + process.arguments
    ends = sum(world.ends.values())

    def committed():
        return sum(world.committed.values())

    def run(until, what):
        began = time.monotonic()
        process.start()
        wait_for_daemons(f"{until:,} events are committed", lambda: committed() >= until, [process], 900)
        peak, at = status(process.process.pid), committed()
        print(f"{what}: {at:,} of {ends:,} committed after {time.monotonic() - began:.0f} s; at most {peak} MiB", flush=True)

    for quarter in (1, 2, 3):
        run(ends * quarter // 4, f"start {quarter}")
        process.kill()
    run(ends, "start 4")
    # The sizes are measured every ten seconds.
    pause(12)
    print(
        f"{metric('carillon_orders'):,.0f} orders are remembered, {metric('carillon_orders_bytes') / 2**20:,.0f} MiB; "
        f"{metric('carillon_orders_fullest_ratio'):.2f} of the limit in the fullest partition; "
        f"{metric('carillon_forgotten_orders_total'):,.0f} were forgotten since this start",
        flush=True,
    )
    process.kill()
    shutil.rmtree(world.folder / "a" / "orders-0")
    began = time.monotonic()
    process.start()
    wait_for_daemons("the orders are folded again", lambda: process.has_line("the state of orders is complete"), [process], 900)
    taken, peak = time.monotonic() - began, status(process.process.pid)
    print(f"folded again without a checkpoint within {taken:.0f} s; at most {peak} MiB", flush=True)
    process.stop(60)


def run_in_memory(options, measure):
    """The exit code of a measurement of processes that may use `options.memory` MiB."""
    harness, passed = Harness(seed_of_run(), os.environ), False
    try:
        with memory_limit(options.memory << 20) as words:
            try:
                measure(harness, options, words)
                passed = True
            finally:
                harness.close(passed)
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench --hostile-orders", description=__doc__.split("\n\n")[0])
    parser.add_argument("--orders", type=int, default=636_000)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--id", type=int, default=8, help="bytes of an id, at least 8")
    parser.add_argument("--text", type=int, default=3_600, help="bytes of an order's number")
    parser.add_argument("--memory", type=int, default=2_048, help="MiB that the process may use")
    options = parser.parse_args()
    return run_in_memory(options, measure)


if __name__ == "__main__":
    sys.exit(main())
