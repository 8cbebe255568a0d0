"""Carillon against the limit: both move the same events on the same broker, alternately, measured the same way from outside.

Throughput is the rate at which the group's committed offsets advance from 10 % to 95 % of the events, so that neither the
start nor the end counts. CPU is that of the process between the same two moments; resident memory is its peak. The committed
records are counted after each run.
"""

import sys

from bench_runs import Bench, add_backlog, interval, make_parser, medians_by_name, numbers
from figures import ratio
from harness.waiting import Failure
from programs import COPIES, carillon, limit
from results import about, throughput, write


def show_medians(found, workers):
    print(
        f"\n{workers} worker(s), {len(next(iter(found.values())))} runs of each, medians\n"
        f"{'':15} {'events/s':>12} {'pushes/s':>12} {'µs CPU an event':>16} {'peak MB':>9}"
    )
    for name, (rate, cpu, peak) in medians_by_name(found).items():
        print(f"{name:15} {rate:12,.0f} {rate * COPIES:12,.0f} {cpu:16.2f} {peak:9.0f}")


def show_ratios(found, mine, other):
    """The medians of the rounds' own ratios."""
    columns = zip(zip(*found[mine]), zip(*found[other]))
    rate, cpu, peak = [ratio(ones, others) for ones, others in columns]
    print(f"{mine} to {other}: events/s {rate}, CPU {cpu}, MB {peak}", flush=True)


def main():
    parser = make_parser("Scripts/bench", __doc__.splitlines()[0])
    add_backlog(parser, 400_000)
    parser.add_argument("--workers", type=numbers, default=[2], help="a number, or several with commas; default 2")
    parser.add_argument("--interval", type=interval, default=50, metavar="50ms", help="of a transaction")
    parser.add_argument("--against", help="another build of carillon, measured in turn with this one")
    parser.add_argument("--only-limit", action="store_true", help="without carillon")
    options = parser.parse_args()
    bench = Bench(options)
    programs = [limit(options.limit)]
    if options.against:
        programs.append(carillon(options.against, name="against"))
    if not options.only_limit:
        programs.append(carillon(options.carillon))
    results = about(options) | {"backlog": options.events, "interval_ms": options.interval, "throughput": []}
    try:
        bench.load()
        for workers in options.workers:
            bench.measure(programs[-1], workers, options.interval)  # Not counted: it warms up the broker's JIT compiler.
            found = bench.interleave(programs, workers, options.interval)
            show_medians(found, workers)
            for program in programs[:-1]:
                show_ratios(found, "carillon", program.name)
            results["throughput"] += throughput(found, workers)
        write(results, options.json)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
