"""Carillon beside the limit and beside two programs that others would write for the same work, in turn, on the same events.

    Scripts/bench --peers [--workers 1,2] [--runs 5] [--rate 1000] [--seconds 20] [--interval 20ms,50ms] [--json FILE]
    Scripts/bench --peers --chart FILE    also draws the figures; with --draw JSON those of a run that was made before
    Scripts/bench --peers --quick         the same, small: it shows that all write the same pushes, and no speed

The peers are an application of Kafka Streams (Benchmarks/streams) and `confluent-kafka` with `orjson` (Benchmarks/fan_out.py). All
but the limit must write the same records as carillon, byte for byte. After the throughput follows the latency, with one worker: at
the given rates, and at a share of each program's own throughput: generator, reader and broker need their part of the cores.
"""

import itertools
import json
import os
import pathlib
import sys

import latency
from bench import show_medians, show_ratios
from bench_runs import Bench, add_backlog, make_parser, medians_by_name, numbers
from chart import draw
from harness.waiting import Failure
from programs import carillon, limit, python, streams
from results import about, latencies, ratios, throughput, write
from tables import latency_table, throughput_table

# Of a transaction, while the throughput is measured, and the longest of those that lag; in milliseconds.
INTERVAL, BEHIND = 50, 500


def expect_same(digests):
    """Each run has written the same: digests by program. The limit's pushes alone are made up."""
    wanted = min(digests["carillon"])
    for name, found in digests.items():
        if name != "limit" and found != {wanted}:
            raise Failure(f"{name} does not write the same records as carillon in each of its runs")


def measure_throughput(bench, programs, results):
    """Adds rows and ratios to the results; events a second by program, of the first number of workers."""
    options, rates = bench.options, {}
    bench.measure(programs[-1], options.workers[0], INTERVAL)  # Not counted: it warms up the broker's JIT compiler.
    for workers in options.workers:
        found = bench.interleave(programs, workers, INTERVAL)
        expect_same(bench.digests)
        show_medians(found, workers)
        results["throughput"] += throughput(found, workers)
        # So few events may cost no measurable CPU.
        if not options.quick:
            for program in programs[:-1]:
                show_ratios(found, "carillon", program.name)
            results["ratios"] += ratios(found, workers, "carillon")
        rates = rates or {name: row.rate for name, row in medians_by_name(found).items()}
    return rates


def measure_latency(bench, programs, rates):
    """Rows for all programs: at the rates and intervals that were asked for, and at a share of each one's own rate."""
    options, found = bench.options, {}
    cases = list(itertools.product(programs, options.rate, options.interval))
    if not options.quick:
        # To hundreds, which are easier to read.
        cases += [(each, round(rates[each.name] * options.share / 100) * 100, options.interval[-1]) for each in programs]
    for _ in range(options.runs):
        latency.measure(bench, cases, found)
    return latencies(found)


def measure(options):
    bench = Bench(options)
    programs = [limit(options.limit), streams(options.streams), python(), carillon(options.carillon)]
    # Of the others a transaction lasts so long while they lag.
    patient = [] if options.quick else [streams(options.streams, f"streams-{BEHIND}", BEHIND)]
    results = about(options) | {"backlog": options.events, "interval_ms": INTERVAL, "share": options.share}
    results |= {"throughput": [], "ratios": []}
    try:
        bench.load()
        rates = measure_throughput(bench, [*patient, *programs], results)
        results["latency"] = measure_latency(bench, programs, rates)
    finally:
        bench.close()
    return results


def main():
    parser = make_parser("Scripts/bench --peers", __doc__.splitlines()[0])
    add_backlog(parser, 400_000)
    latency.add_options(parser, 1_000, 20)
    parser.add_argument("--workers", type=numbers, default=[1, 2], help="threads, or processes of Python; default 1,2")
    parser.add_argument("--share", type=float, default=0.25, help="of a program's throughput, for its latency; default 0.25")
    parser.add_argument("--chart", type=pathlib.Path, metavar="FILE", help="draw the figures as SVG")
    parser.add_argument("--draw", type=pathlib.Path, metavar="JSON", help="measure nothing: show what --json wrote there")
    parser.add_argument("--quick", action="store_true", help="everything, once and small")
    parser.set_defaults(streams=os.environ["STREAMS"])
    options = parser.parse_args()
    if options.quick:
        options.events, options.runs, options.workers = 20_000, 1, [1]
        options.seconds, options.warm_up, options.rate, options.interval = 2, 0, [200], [50]
    try:
        results = json.loads(options.draw.read_text()) if options.draw else measure(options)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    print("", *throughput_table(results), "", *latency_table(results), sep="\n")
    if not options.draw:
        write(results, options.json)
    if options.chart:
        options.chart.write_text(draw(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
