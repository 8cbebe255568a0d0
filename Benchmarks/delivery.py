"""What `carillon deliver` costs: a backlog of pushes to each provider's stand-in, beside other clients that send the same.

    Scripts/bench --delivery [--records N] [--rounds N] [--json]   everything, in turn
    Scripts/bench --delivery --quick                               the same, small: it shows that all works, and no speed
    Scripts/bench --delivery --only fcm,apns --against CARILLON    another build in turn with this one

The rate and the CPU are those from 10 % to 95 % of the backlog, by what the group has committed. The stand-in answers at once, in a
process of its own on the same machine. The latency is from a dispatch record's append to its outcome's, by the broker's clock.
"""

import argparse
import os
import statistics
import sys

import delivery_peers
from delivery_runs import Bench, Figures
from figures import Target, median
from harness.seed import add_seed
from results import tell

PARTS = ("fcm", "apns", "memory", "latency", "peers")
PEERS = {"h2load": "fcm", "firebase-admin": "fcm", "aioapns": "apns"}
# Besides half of the rate that was measured.
FIXED_RATES = (1_000, 10_000)


def measure(options):
    """Everything that was asked for, by name."""
    parts = options.only
    found = {"records": options.records, "partitions": options.partitions, "rounds": options.rounds}
    bench = Bench(options)
    try:
        platforms = [each for each in ("fcm", "apns") if each in parts]
        builds = {"": options.carillon} | ({" before": options.against} if options.against else {})
        peers = [each for each, platform in PEERS.items() if "peers" in parts and platform in platforms]
        for platform in platforms:
            bench.load(platform, options.records)
        rows = {}
        bench.run(options.carillon, platforms[0])  # Not counted: it warms up the broker's JIT compiler.
        for _ in range(options.rounds):
            for platform in platforms:
                for suffix, build in builds.items():
                    bench.note(rows, platform + suffix, bench.run(build, platform))
            for peer in peers:
                figures = Figures(*delivery_peers.run(peer, bench.stand_in, options.peer_records[peer]))
                bench.note(rows, peer, figures)
        found["throughput"] = {name: median(each)._asdict() for name, each in rows.items()}
        found["ratios"] = ratios(rows, platforms, builds, peers)
        if "memory" in parts:
            bench.load("fcm", 4 * options.records, "fcm-4")
            found["memory"] = {"N": found["throughput"]["fcm"], "4 N": bench.run(options.carillon, "fcm-4")._asdict()}
        if "latency" in parts:
            half = round(found["throughput"]["fcm"]["rate"] / 2)
            found["latency"] = [bench.latency(options.carillon, rate, options.seconds) for rate in (*FIXED_RATES, half)]
    finally:
        bench.close()
    return found


def ratios(rows, platforms, builds, peers):
    """The medians of the rounds' own ratios: the machine's speed drifts between rounds. `rate` and `cpu` are both how many times
    better the sender is."""
    pairs = [(platform, platform + suffix) for platform in platforms for suffix in builds if suffix]
    pairs += [(PEERS[peer], peer) for peer in peers]
    return {
        f"{one} to {other}": {
            "rate": statistics.median(a.rate / b.rate for a, b in zip(rows[one], rows[other])),
            "cpu": statistics.median(b.cpu / a.cpu for a, b in zip(rows[one], rows[other])),
        }
        for one, other in pairs
    }


def targets(found):
    for platform in ("fcm", "apns"):
        if row := found["throughput"].get(platform):
            yield Target(f"{platform}, µs of CPU a request", row["cpu"], 40, False)
            yield Target(f"{platform}, requests/s a core", 1e6 / row["cpu"], 20_000, True)
    for peer in ("fcm to firebase-admin", "apns to aioapns"):
        if row := found["ratios"].get(peer):
            yield Target(f"{peer}, requests/s", row["rate"], 10, True)
            yield Target(f"{peer}, CPU", row["cpu"], 10, True)
    if memory := found.get("memory"):
        yield Target("peak memory at 4 N to that at N", memory["4 N"]["peak"] / memory["N"]["peak"], 1.1, False)
    for row in found.get("latency", ())[1:]:
        yield Target(f"p99 at {row['rate']:,}/s, ms", row["p99"], 100, False)


def show(found):
    print(
        f"\n{found['records']:,} records in {found['partitions']} partitions, medians of {found['rounds']} rounds\n"
        f"{'':18}{'requests/s':>12}{'µs CPU each':>13}{'a core, /s':>12}{'steady MB':>11}{'peak MB':>9}"
    )
    rows = found["throughput"] | ({"fcm, 4 N": found["memory"]["4 N"]} if "memory" in found else {})
    for name, row in rows.items():
        print(f"{name:18}{row['rate']:12,.0f}{row['cpu']:13.1f}{1e6 / row['cpu']:12,.0f}{row['steady']:11.0f}{row['peak']:9.0f}")
    for name, row in found["ratios"].items():
        print(f"{name}: {row['rate']:.3g} × the requests/s, 1/{row['cpu']:.3g} of the CPU")
    for row in found.get("latency", ()):
        times = f"p50 {row['p50']:.0f} ms, p99 {row['p99']:.0f} ms, most {row['most']:.0f} ms"
        print(f"append to append at {row['rate']:,}/s ({row['produced']:,.0f} produced): {times}")


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench --delivery", description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=200_000, help="the backlog N, of each provider; default 200,000")
    parser.add_argument("--rounds", type=int, default=3, help="of each, in turn; the medians are shown")
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=15, help="of each measurement of the latency")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}; all but the first two need fcm")
    parser.add_argument("--against", help="another build of carillon, measured in turn with this one")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE: a setting of the sender")
    parser.add_argument("--quick", action="store_true", help="everything, once and small")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_seed(parser)
    options = parser.parse_args()
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"--only: {', '.join(unknown)}")
    if "fcm" not in options.only and options.only != ["apns"]:
        parser.error("--only: what is not apns alone needs fcm")
    if options.quick:
        options.records, options.rounds, options.seconds = 20_000, 1, 4
    options.carillon, options.stand_in = os.environ["CARILLON"], os.environ["PROVIDER_STAND_IN"]
    options.bootstrap = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    # They are slower, and take as long each.
    options.peer_records = {"h2load": options.records, "firebase-admin": options.records // 40, "aioapns": options.records // 10}
    return tell(options.json, lambda: measure(options), show, targets)


if __name__ == "__main__":
    sys.exit(main())
