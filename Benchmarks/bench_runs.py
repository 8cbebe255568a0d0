"""Runs of programs on the same events, measured from outside: how much they did by the offsets that they have committed."""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from confluent_kafka import Consumer, TopicPartition

from figures import figures, latency, median
from generator.inputs import subscription
from harness.cluster import Cluster
from harness.waiting import Failure, pause
from programs import COPIES, Processes, Run

# Slightly more than twice state.horizon.
KEPT = {"retention.ms": str(30 * 86_400_000)}
BY_BROKER = {"message.timestamp.type": "LogAppendTime"}
FOR_EVER = 2**62


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


def make_parser(name, description):
    """The options that all these benchmarks have. The programs that were built are in the environment."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--bytes", type=int, default=1_000, help="of an event")
    parser.add_argument("--partitions", type=int, default=24)
    parser.add_argument("--places", type=int, default=10_000, help=f"each with {COPIES} devices")
    parser.add_argument("--runs", type=int, default=3, help="of each program, in turn; the medians are shown")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the figures of every run there")
    parser.set_defaults(limit=os.environ["LIMIT"], carillon=os.environ.get("CARILLON"))
    return parser


def add_backlog(parser, events):
    """The options of those that measure how fast a backlog is processed."""
    parser.add_argument("--events", type=int, default=events, help=f"of the backlog; default {events:,}")
    parser.add_argument("--deadline", type=int, default=120, help="seconds for one run")


def numbers(text):
    return [int(each) for each in text.split(",")]


def interval(text):
    """Milliseconds, of `20ms`."""
    return int(text.removesuffix("ms"))


def intervals(text):
    """Of `20ms,50ms`."""
    return [interval(each) for each in text.split(",")]


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
        # Of what each program wrote in its runs, by its name.
        self.digests = {}

    def load(self):
        self.load_subscriptions()
        options, began = self.options, time.monotonic()
        self.cluster.create_topics({self.input: (options.partitions, KEPT)})
        self.call("load", self.input, options.events, options.bytes, options.places)
        print(
            f"{options.events:,} events of {options.bytes} B in {options.partitions} partitions, {options.places * COPIES:,} "
            f"subscriptions, loaded in {time.monotonic() - began:.1f} s",
            flush=True,
        )

    def load_subscriptions(self):
        self.cluster.create_topics({self.table: (4, {"cleanup.policy": "compact"})})
        self.cluster.produce(self.table, subscriptions(self.options.places))

    def call(self, command, *arguments, beside=None):
        """What one of the limit's other commands prints, and it ends; `beside` are processes that must be well meanwhile."""
        line = [self.options.limit, command, self.cluster.bootstrap, *map(str, arguments)]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as called:
            try:
                while beside and called.poll() is None:
                    beside.expect_well()
                    pause(0.2)
                printed, errors = called.communicate()
            finally:
                called.kill()
        if called.returncode:
            raise Failure(errors + (beside.last_lines() if beside else ""))
        return printed

    def make_run(self, topic, workers, interval, events):
        """A new group, with topics of its own for what it writes."""
        self.runs += 1
        group = f"{self.name}-{self.runs}"
        output = {kind: f"{group}.{kind}" for kind in ("dispatch", "dead-letters", "journal")}
        sizes = {"dispatch": self.options.partitions}
        self.cluster.create_topics({name: (sizes.get(kind, 1), {}) for kind, name in output.items()})
        folder = self.folder / group
        return Run(self.cluster.bootstrap, group, topic, self.table, output, folder, workers, interval, events, self.value_bytes)

    def delete(self, topics):
        for future in self.cluster.admin.delete_topics(list(topics)).values():
            future.result(30)

    def interleave(self, programs, workers, interval):
        """Measures each in turn, several times; the figures of every run by name."""
        found = {program.name: [] for program in programs}
        for _ in range(self.options.runs):
            for program in programs:
                found[program.name].append(self.measure(program, workers, interval))
        return found

    def measure(self, program, workers, interval):
        """The figures of one run."""
        events = self.options.events
        run = self.make_run(self.input, workers, interval, events)
        processes = Processes(program.commands(run), self.folder / f"{run.group}.log")
        try:
            samples, peak = self.follow(processes, run.group, program.input or run.input)
        finally:
            processes.stop()
        self.check(program, run)
        self.delete(run.output.values())
        found = figures(samples, events, peak)
        print(f"  {program.name:15} {workers} {found.rate:9,.0f} events/s {found.cpu:6.1f} µs CPU {found.peak:7.0f} MB", flush=True)
        return found

    def follow(self, processes, group, topic):
        """Samples of (time, committed events, CPU seconds) until everything is committed, and the most MB."""
        samples, deadline = [], time.monotonic() + self.options.deadline
        while True:
            cpu, peak = processes.look()
            done = sum(self.cluster.committed(group, topic).values())
            samples.append((time.monotonic(), done, cpu))
            if done >= self.options.events:
                return samples, peak
            processes.expect_well()
            if time.monotonic() > deadline:
                raise Failure(f"{done:,} events after {self.options.deadline} s:\n{processes.last_lines()}")
            pause(0.04)

    def check(self, program, run):
        """Every event has become COPIES committed records. Offsets do not tell: the ends of transactions take some, too."""
        written, due = json.loads(self.call("tally", run.output["dispatch"])), run.events * COPIES
        if written["records"] != due:
            raise Failure(f"{program.name} wrote {written['records']:,} records, {due:,} are due")
        if program.name == "carillon" and "carillon" not in self.digests:
            self.value_bytes = self.average_value(run.output["dispatch"])
            print(f"carillon writes {self.value_bytes} B a record, and so does the limit", flush=True)
        self.digests.setdefault(program.name, set()).add(written["digest"])

    def average_value(self, topic, count=1000):
        reader = Consumer(self.cluster.settings | {"group.id": f"{self.name}-reader", "enable.auto.commit": False})
        reader.assign([TopicPartition(topic, 0, 0)])
        sizes = [len(message.value()) for message in reader.consume(count, timeout=30) if not message.error()]
        reader.close()
        return round(statistics.mean(sizes))

    def latency(self, program, rate, interval, workers=1):
        """Of `options.seconds` at so many events a second, on topics of its own."""
        options = self.options
        topic = f"{self.name}-{self.runs + 1}.events"
        self.cluster.create_topics({topic: (options.partitions, KEPT | BY_BROKER)})
        run = self.make_run(topic, workers, interval, FOR_EVER)
        processes = Processes(program.commands(run), self.folder / f"{run.group}.log")
        numbers = [rate, options.warm_up, options.seconds, options.bytes, options.places, COPIES]
        try:
            printed = json.loads(self.call("latency", topic, run.output["dispatch"], *numbers, beside=processes))
        finally:
            processes.stop()
        self.delete([topic, *run.output.values()])
        found = latency({int(ms): count for ms, count in printed["milliseconds"].items()}, printed["late_ms"])
        print(
            f"  {program.name:15} {interval} ms, {rate:,}/s: p50 {found.p50} ms, p99 {found.p99} ms, most {found.most} ms "
            f"(an event was at most {found.late:.1f} ms late)",
            flush=True,
        )
        return found

    def close(self):
        self.cluster.admin.delete_topics([self.input, self.table])
        shutil.rmtree(self.folder, ignore_errors=True)


def medians_by_name(found):
    return {name: median(rows) for name, rows in found.items()}
