"""How long it takes from an event's append until its pushes are visible, at a steady rate: carillon and the limit in turn.

    Scripts/bench --latency [--rate 1000] [--seconds 60] [--runs 5] [--interval 20ms,50ms]

From the time that the broker wrote to the event, to the moment when a reader of committed records has the last of its pushes
(Benchmarks/latency.h). The broker must run on this machine: both times are of its clock.
"""

import sys

from bench_runs import Bench, intervals, make_parser, numbers
from harness.waiting import Failure
from programs import carillon, limit
from results import about, latencies, write


def measure(bench, programs, rates, found):
    """One round: adds the figures of each program at each interval to `found`, by (program, interval, rate). `rates` by program."""
    for program in programs:
        for rate in rates[program.name]:
            for interval in bench.options.interval:
                row = bench.latency(program, rate, interval)
                found.setdefault((program.name, interval, rate), []).append(row)


def show(rows):
    print(f"\nMedians of {len(rows[0]['runs'])} runs\n{'':15}  interval  events/s   p50 ms   p99 ms  most ms")
    for row in rows:
        print(
            f"{row['program']:15} {row['interval_ms']:6} ms {row['rate']:9,} {row['p50']:8.0f} {row['p99']:8.0f} {row['most']:8.0f}"
        )


def add_options(parser, rate, seconds):
    parser.add_argument("--rate", type=numbers, default=[rate], help=f"events a second; default {rate:,}")
    parser.add_argument("--seconds", type=int, default=seconds, help=f"of each measurement of the latency; default {seconds}")
    parser.add_argument(
        "--interval", type=intervals, default=[20, 50], metavar="20ms,50ms", help="of a transaction; each is measured"
    )


def main():
    parser = make_parser("Scripts/bench --latency", __doc__.splitlines()[0])
    add_options(parser, 1_000, 60)
    parser.add_argument("--only-limit", action="store_true", help="without carillon")
    parser.set_defaults(runs=5)
    options = parser.parse_args()
    programs = [limit(options.limit)] + ([] if options.only_limit else [carillon(options.carillon)])
    bench, found = Bench(options), {}
    try:
        bench.load_subscriptions()
        bench.latency(programs[-1], options.rate[0], options.interval[-1])  # Not counted: it warms up the broker's JIT compiler.
        for _ in range(options.runs):
            measure(bench, programs, {program.name: options.rate for program in programs}, found)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        bench.close()
    rows = latencies(found)
    show(rows)
    write(about(options) | {"latency": rows}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
