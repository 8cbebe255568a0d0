"""Carillon against the limit: both move the same events on the same broker, alternately, measured the same way from outside.

Throughput is the rate at which the group's committed offsets advance from 10 % to 95 % of the events, so that neither the
start nor the end counts. CPU is that of the process between the same two moments; resident memory is its peak.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "EndToEnd"))
from generator.inputs import subscription  # noqa: E402
from harness.cluster import Cluster  # noqa: E402
from harness.waiting import Failure, pause  # noqa: E402

COPIES = 3
TICKS = os.sysconf("SC_CLK_TCK")


def devices_of(place, number):
    """The COPIES devices of a place."""
    for copy in range(COPIES):
        yield subscription(
            place,
            f"device-{number:08}-{copy}-" + hashlib.sha512(f"{number} {copy}".encode()).hexdigest(),
            environment="production",
            locale="en-GB",
            registered_at="2026-02-01T00:00:00Z",
            last_seen_at="2026-02-28T00:00:00Z",
        )


def subscriptions(places):
    """Those of the loader's places."""
    for number in range(places):
        yield from devices_of(f"{number:08}-0000-4000-8000-000000000000", number)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def crossing(samples, at):
    """(time, CPU) when the committed events passed `at`, between two samples."""
    for (t0, n0, c0), (t1, n1, c1) in zip(samples, samples[1:]):
        if n0 <= at <= n1 and n1 > n0:
            share = (at - n0) / (n1 - n0)
            return t0 + share * (t1 - t0), c0 + share * (c1 - c0)
    raise Failure(f"no sample around {at:,} events")


class Program(NamedTuple):
    """What is measured: the limit, or a build of carillon with its settings, by how it moves one topic."""

    name: str
    build: str
    input: str
    settings: dict


class Bench:
    def __init__(self, options):
        self.options = options
        self.cluster = Cluster(os.environ["KAFKA_BOOTSTRAP_SERVERS"])
        self.name = f"bench-{os.getpid()}-{int(time.time())}"
        self.input, self.table = f"{self.name}.events", f"{self.name}.subscriptions"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-bench."))
        self.runs = 0
        # The size of the limit's records, until carillon's own size is known from its first run.
        self.value_bytes = 844

    def load(self):
        options = self.options
        began = time.monotonic()
        self.cluster.create_topics(
            {
                # Slightly more than twice state.horizon.
                self.input: (options.partitions, {"retention.ms": str(30 * 86_400_000)}),
                self.table: (4, {"cleanup.policy": "compact"}),
            }
        )
        self.cluster.produce(self.table, subscriptions(options.places))
        subprocess.run(
            [
                options.limit,
                "load",
                self.cluster.bootstrap,
                self.input,
                str(options.events),
                str(options.bytes),
                str(options.places),
            ],
            check=True,
        )
        print(
            f"{options.events:,} events of {options.bytes} B in {options.partitions} partitions, {options.places * COPIES:,} "
            f"subscriptions, loaded in {time.monotonic() - began:.1f} s",
            flush=True,
        )

    def command(self, program, group, output, workers):
        options, bootstrap = self.options, self.cluster.bootstrap
        if program.name == "limit":
            return [
                program.build,
                "run",
                bootstrap,
                group,
                program.input,
                output["dispatch"],
                str(options.events),
                str(workers),
                str(COPIES),
                str(self.value_bytes),
            ]
        settings = {
            "kafka.bootstrap.servers": bootstrap,
            "group.id": group,
            "instance.id": "bench",
            "workers": workers,
            "state.dir": self.folder / group,
            "topic.events": self.input,
            "topic.subscriptions": self.table,
            "topic.dispatch": output["dispatch"],
            "topic.dead-letters": output["dead-letters"],
            "topic.journal": output["journal"],
        } | program.settings
        return [program.build, "run", "--from", "earliest"] + [
            part for key, value in settings.items() for part in ("--set", f"{key}={value}")
        ]

    def interleave(self, programs, workers):
        """Measures each in turn, several times; the medians by name."""
        results = {program.name: [] for program in programs}
        self.measure(programs[-1], workers)  # Not counted: it warms up the broker's JIT compiler.
        for _ in range(self.options.runs):
            for program in programs:
                results[program.name].append(self.measure(program, workers))
                rate, cpu, peak = results[program.name][-1]
                print(f"  {program.name:15} {rate:9,.0f} events/s {cpu:6.2f} µs CPU a record {peak:7.0f} MB", flush=True)
        medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in results.items()}
        print(
            f"\n{workers} worker(s), {self.options.runs} runs of each, medians\n"
            f"{'':15} {'events/s':>12} {'records/s':>12} {'µs CPU a record':>16} {'peak MB':>9}"
        )
        for name, (rate, cpu, peak) in medians.items():
            print(f"{name:15} {rate:12,.0f} {rate * COPIES:12,.0f} {cpu:16.2f} {peak:9.0f}")
        return medians

    def measure(self, program, workers):
        """One run: (events/s, CPU µs a record, peak MB)."""
        self.runs += 1
        options, group = self.options, f"{self.name}-{self.runs}"
        output = {kind: f"{group}.{kind}" for kind in ("dispatch", "dead-letters", "journal")}
        self.cluster.create_topics(
            {output["dispatch"]: (options.partitions, {}), output["dead-letters"]: (1, {}), output["journal"]: (1, {})}
        )
        log_path = self.folder / f"{group}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                self.command(program, group, output, workers),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        try:
            samples = self.follow(process, group, program.input, log_path)
            first, last = options.events // 10, options.events * 95 // 100
            (t0, c0), (t1, c1) = crossing(samples, first), crossing(samples, last)
            status = pathlib.Path(f"/proc/{process.pid}/status")
            peak = self.peak_kb
            if process.poll() is None and status.exists():
                peak = max(peak, self.read_peak(status))
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.check_output(output["dispatch"])
        if program.name == "carillon" and self.runs == 1:
            self.value_bytes = self.average_value(output["dispatch"])
            print(f"carillon writes {self.value_bytes} B a record, and so does the limit", flush=True)
        for future in self.cluster.admin.delete_topics(list(output.values())).values():
            future.result(30)
        return (last - first) / (t1 - t0), (c1 - c0) / ((last - first) * COPIES) * 1e6, peak / 1024

    @staticmethod
    def read_peak(status):
        return next((int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")), 0)

    def follow(self, process, group, topic, log_path):
        """Samples of (time, committed events, CPU seconds) until everything is committed."""
        samples, self.peak_kb = [], 0
        deadline = time.monotonic() + self.options.deadline
        while True:
            try:
                cpu = cpu_seconds(process.pid)
                self.peak_kb = max(self.peak_kb, self.read_peak(pathlib.Path(f"/proc/{process.pid}/status")))
            except (FileNotFoundError, ProcessLookupError, IndexError):
                cpu = samples[-1][2] if samples else 0
            done = sum(self.cluster.committed(group, topic).values())
            samples.append((time.monotonic(), done, cpu))
            if done >= self.options.events:
                return samples
            if process.poll() is not None and process.returncode != 0:
                raise Failure(f"{process.args[0]} ended with {process.returncode}:\n{log_path.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise Failure(f"{done:,} events after {self.options.deadline} s:\n{log_path.read_text()[-2000:]}")
            pause(0.04)

    def check_output(self, topic):
        """Control records take offsets, too, so this is only a lower bound: a run that wrote too little fails."""
        written = sum(self.cluster.ends(topic).values())
        if written < self.options.events * COPIES:
            raise Failure(f"{topic} holds {written:,} records, {self.options.events * COPIES:,} are due")

    def average_value(self, topic, count=1000):
        reader = Consumer(self.cluster.settings | {"group.id": f"{self.name}-reader", "enable.auto.commit": False})
        reader.assign([TopicPartition(topic, 0, 0)])
        sizes = [len(message.value()) for message in reader.consume(count, timeout=30) if not message.error()]
        reader.close()
        return round(statistics.mean(sizes))

    def close(self):
        self.cluster.admin.delete_topics([self.input, self.table])
        shutil.rmtree(self.folder, ignore_errors=True)


def print_ratios(name, mine, other):
    rate, cpu, peak = [one / two for one, two in zip(mine, other)]
    print(f"{'to ' + name:15} {rate:12.2f} {rate:12.2f} {cpu:16.2f} {peak:9.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--limit", help=argparse.SUPPRESS, required=True)
    parser.add_argument("--carillon", help=argparse.SUPPRESS)
    parser.add_argument("--workers", default="2", help="a number, or several with commas; default 2")
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--bytes", type=int, default=780, help="of an event")
    parser.add_argument("--partitions", type=int, default=24)
    parser.add_argument("--places", type=int, default=10_000, help=f"each with {COPIES} devices")
    parser.add_argument("--runs", type=int, default=3, help="of each program, in turn; the medians are shown")
    parser.add_argument("--against", help="another build of carillon, measured in turn with this one")
    parser.add_argument("--only-limit", action="store_true", help="without carillon")
    parser.add_argument("--deadline", type=int, default=120, help="seconds for one run")
    options = parser.parse_args()
    bench = Bench(options)
    programs = [Program("limit", options.limit, bench.input, {})]
    if options.against:
        programs.append(Program("against", options.against, bench.input, {}))
    if not options.only_limit:
        programs.append(Program("carillon", options.carillon, bench.input, {}))
    try:
        bench.load()
        for workers in map(int, options.workers.split(",")):
            medians = bench.interleave(programs, workers)
            for program in programs[:-1]:
                print_ratios(program.name, medians["carillon"], medians[program.name])
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
