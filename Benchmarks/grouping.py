"""Grouped records against single ones: carillon with dispatch.grouping=audience, carillon with device, and the limit, in turn.

    Scripts/bench --grouping [--copies 3,20] [--events N] [--runs N]

The limit writes a record a device, as carillon does with `device`. Pushes are counted after each run: those of a grouped record by
its header. MB/s are those of the keys and values, before they are compressed.
"""

import sys

from bench import show_medians, show_ratios
from bench_runs import Bench, add_backlog, make_parser, medians_by_name, numbers
from harness.waiting import Failure
from programs import carillon, limit
from results import about, throughput, write

# Of a transaction, in milliseconds.
INTERVAL = 50
GROUPED = "grouped"


def show_written(found, written):
    print(f"\n{'':15} {'records an event':>17} {'bytes an event':>15} {'MB/s':>7}")
    for name, (rate, _, _) in medians_by_name(found).items():
        records, size = written[name]
        print(f"{name:15} {records:17.2f} {size:15,.0f} {rate * size / 1e6:7.1f}")


def measure(options, copies):
    """Rows of the throughput with so many devices of each place."""
    options.copies = copies
    bench = Bench(options)
    grouped = carillon(options.carillon, GROUPED, settings={"dispatch.grouping": "audience"})
    programs = [limit(options.limit, copies), carillon(options.carillon), grouped]
    try:
        bench.load()
        bench.measure(programs[1], options.workers, INTERVAL)  # Not counted: it warms up the broker's JIT compiler.
        found = bench.interleave(programs, options.workers, INTERVAL)
    finally:
        bench.close()
    show_medians(found, options.workers, copies)
    show_written(found, bench.written)
    for program in programs[:-1]:
        show_ratios(found, GROUPED, program.name)
    return [
        row | {"devices": copies, "written": dict(zip(("records", "bytes"), bench.written[row["program"]]))}
        for row in throughput(found, options.workers)
    ]


def main():
    parser = make_parser("Scripts/bench --grouping", __doc__.splitlines()[0])
    add_backlog(parser, 300_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--copies", type=numbers, default=[3, 20], help="devices of each place, one after the other; default 3,20")
    options = parser.parse_args()
    rows = []
    try:
        for copies in list(options.copies):
            rows += measure(options, copies)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    write(about(options) | {"backlog": options.events, "interval_ms": INTERVAL, "throughput": rows}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
