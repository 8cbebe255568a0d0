"""What the HTTP API costs, beside a C program that does nothing but answer once Kafka has a record, and beside nginx.

    Scripts/bench --api [--seconds N] [--rounds N] [--json]    everything, in turn
    Scripts/bench --api --quick                                the same, small: it shows that all works, and no speed

The rates are those of wrk, a closed loop in one thread that PUTs distinct ids, at one broker; of the records that this makes each
must be in the topic. CPU is that of the server's process. nginx answers `return 200` without reading the body. The latency is that
of h2load at a fixed rate, against three brokers of which two have a record before it is answered. All are on this machine.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

from figures import Target, median, percentile, ratio
from harness.brokers import Brokers, free_port
from harness.cluster import Cluster
from harness.nginx import Nginx, answers
from harness.prometheus import fetch
from harness.waiting import Failure, wait_for
from programs import Processes, as_arguments, cpu_seconds, resident_mb
from results import tell

HERE = pathlib.Path(__file__).resolve().parent
TOPIC = "notifications.requests"
PARTITIONS = 6
MANY, FEW = 512, 64
# The settings of the API's producer, whose linger is 2 ms, with the one that suits this program's rate best.
PRODUCER = {
    "enable.idempotence": "true",
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
    "socket.nagle.disable": "true",
    "batch.num.messages": "10000",
    "linger.ms": "1",
}
# A connection has so many requests a second in the measurement of the latency: even with 100 ms for an answer none is late.
EACH = 10


class Figures(NamedTuple):
    """Requests a second, µs of CPU a request, the client's milliseconds, and the most MB of resident memory."""

    rate: float
    cpu: float
    p50: float
    p99: float
    peak: float


class Latency(NamedTuple):
    """Milliseconds until the answer, and requests a second."""

    p50: float
    p99: float
    most: float
    rate: float


def figures(line, cpu, peak):
    """From the line of put.lua."""
    found = json.loads(line)
    if found["errors"] or not found["requests"]:
        raise Failure(f"wrk: {line}")
    return Figures(found["requests"] / found["seconds"], cpu / found["requests"] * 1e6, found["p50"], found["p99"], peak)


def latency(log, warm_up, rate):
    """From h2load's log, whose lines have the µs of the start, the status and the µs that it took; `warm_up` is in seconds. What
    was sent too late for the rate was not measured as it should be."""
    rows = [tuple(map(int, line.split("\t")[:3])) for line in log.splitlines()]
    if refused := [status for _, status, _ in rows if status != 202]:
        raise Failure(f"{len(refused)} answers of {len(rows)} are not 202, such as {refused[0]}")
    first = min(start for start, _, _ in rows) + warm_up * 1_000_000
    counted = [(start, took) for start, _, took in rows if start >= first]
    if not counted:
        raise Failure("nothing was sent after the warm-up")
    sent = len(counted) / (max(start for start, _ in counted) - first) * 1e6
    if not 0.97 * rate <= sent <= 1.03 * rate:
        raise Failure(f"{sent:,.0f} requests/s were sent, wanted {rate:,}")
    counts = {}
    for _, took in counted:
        counts[took / 1e3] = counts.get(took / 1e3, 0) + 1
    return Latency(percentile(counts, 0.5), percentile(counts, 0.99), max(counts), sent)


def ratios(rows):
    """Of the rounds' own rates and CPU: [median, low, high]; `rows` are those of each case."""
    pairs = ((f"carillon {MANY}", f"carillon {FEW}"), (f"carillon {FEW}", f"direct {FEW}"), (f"carillon {FEW}", f"nginx {FEW}"))
    return {
        f"{one} to {other}": {
            field: list(ratio([getattr(row, field) for row in rows[one]], [getattr(row, field) for row in rows[other]]))
            for field in ("rate", "cpu")
        }
        for one, other in pairs
    }


def targets(found):
    rates = {name: row["rate"][0] for name, row in found["ratios"].items()}
    yield Target(f"{MANY} to {FEW} connections, requests/s", rates[f"carillon {MANY} to carillon {FEW}"], 0.9, True)
    yield Target(f"{FEW} connections to the C program, requests/s", rates[f"carillon {FEW} to direct {FEW}"], 0.5, True)
    yield Target(f"p50 at {found['rate']:,}/s, ms", found["latency"]["p50"], 8, False)
    yield Target(f"p99 at {found['rate']:,}/s, ms", found["latency"]["p99"], 25, False)


class Bench:
    """The servers on a cluster; each listens on a port of its own, with a topic of its own for each."""

    def __init__(self, options, bootstrap, folder, **topic):
        self.options, self.cluster, self.folder = options, Cluster(bootstrap), folder
        self.topics = {name: f"{TOPIC}.{os.getpid()}.{name}" for name in ("carillon", "direct")}
        self.ports = {name: free_port() for name in ("carillon", "direct", "nginx")}
        self.numbers = itertools.count()
        self.cluster.create_topics({name: (PARTITIONS, topic) for name in self.topics.values()})
        keys = folder / "keys.json"
        create = [options.carillon, "api", "key", "create", "--scope", "send", "--file", keys, "--json"]
        self.key = json.loads(subprocess.run(create, capture_output=True, text=True, check=True).stdout)["key"]
        self.keys, self.started = keys, []

    def carillon(self):
        health = free_port()
        settings = {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "topic.requests": self.topics["carillon"],
            "api.http": f"127.0.0.1:{self.ports['carillon']}",
            "api.keys": f"@{self.keys}",
            "api.rate": 1_000_000,
            "http": f"127.0.0.1:{health}",
            "state.dir": self.folder / "state",
        }
        self.start("carillon", [self.options.carillon, "api", *as_arguments(settings)])

        def is_ready():
            self.started[-1].expect_well()
            return answers(health) and fetch(f"http://127.0.0.1:{health}/ready")[2] == "ready\n"

        wait_for("the API is ready", is_ready, 60)
        return self.started[-1].all[0].pid

    def direct(self):
        settings = [f"{name}={value}" for name, value in (PRODUCER | {"bootstrap.servers": self.cluster.bootstrap}).items()]
        self.start("direct", [self.options.direct, str(self.ports["direct"]), self.topics["direct"], *settings])
        wait_for("the C program listens", lambda: answers(self.ports["direct"]), 20)
        return self.started[-1].all[0].pid

    def start(self, name, command):
        self.started.append(Processes([command], self.folder / f"{name}.log"))

    def close(self):
        for each in self.started:
            each.stop()
        for future in self.cluster.admin.delete_topics(list(self.topics.values())).values():
            future.result(30)

    def put(self, name, pid, connections):
        """One run of wrk."""
        topic, seconds = self.topics.get(name), self.options.seconds
        before = sum(self.cluster.ends(topic).values()) if topic else 0
        cpu = cpu_seconds(pid)
        arguments = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", HERE / "api" / "put.lua"]
        url = f"http://127.0.0.1:{self.ports[name]}"
        prefix = f"{os.getpid()}-{next(self.numbers)}"
        done = subprocess.run(["wrk", *arguments, url, "--", self.key, prefix], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"wrk: {done.stderr}{done.stdout}")
        found = figures(done.stdout.splitlines()[-1], cpu_seconds(pid) - cpu, resident_mb(pid, "VmHWM"))
        written = sum(self.cluster.ends(topic).values()) - before if topic else 0
        if topic and written < found.rate * seconds * 0.99:
            raise Failure(f"{name}: {written:,} records of {found.rate:,.0f} requests/s in {seconds} s")
        say(f"  {name:9}{connections:4} {found.rate:9,.0f} requests/s {found.cpu:7.1f} µs CPU a request {found.peak:5.0f} MB")
        return found

    def offer(self, rate):
        """One run of h2load: POSTs that are not named, each of which is written."""
        body, log = self.folder / "body.json", self.folder / "h2load.log"
        body.write_text('{"audience":"user/17","app":{"title":"New bill","body":"23.40 €","data":{"type":"NewBill"}}}')
        log.unlink(missing_ok=True)
        clients, seconds = rate // EACH, self.options.seconds + self.options.warm_up
        # The connections begin one after another within the first requests' time.
        period = f"--rate-period={max(1, 1000 // rate)}ms"
        sizes = ["--h1", "-t1", "-r1", period, f"-c{clients}", f"--rps={EACH}", f"-n{rate * seconds}"]
        headers = ["-H", f"Authorization: Bearer {self.key}", "-H", "Content-Type: application/json", "-d", body]
        url = f"http://127.0.0.1:{self.ports['carillon']}/v1/requests"
        done = subprocess.run(["h2load", *sizes, f"--log-file={log}", *headers, url], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"h2load: {done.stderr}{done.stdout}")
        found = latency(log.read_text(), self.options.warm_up, rate)
        say(f"  {rate:,}/s, three brokers: p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, most {found.most:.0f} ms")
        return found


def say(text):
    print(text, file=sys.stderr, flush=True)


def rates(options, folder):
    """The rows of each case at one broker."""
    bench, rows = Bench(options, os.environ["KAFKA_BOOTSTRAP_SERVERS"], folder), {}
    servers = f'server {{ listen 127.0.0.1:{bench.ports["nginx"]} backlog=4096; return 200 "{{}}"; }}'
    try:
        pids = {"carillon": bench.carillon(), "direct": bench.direct()}
        with Nginx(folder, servers, bench.ports["nginx"]) as nginx:
            pids["nginx"] = nginx.process.pid
            cases = (("carillon", FEW), ("carillon", MANY), ("direct", FEW), ("nginx", FEW))
            bench.put("carillon", pids["carillon"], FEW)  # Not counted: it warms up the broker's JIT compiler.
            for _ in range(options.rounds):
                for name, connections in cases:
                    rows.setdefault(f"{name} {connections}", []).append(bench.put(name, pids[name], connections))
    finally:
        bench.close()
    return rows


def latencies(options, folder):
    with Brokers(os.environ["KAFKA_HOME"], nodes=3) as brokers:
        bench = Bench(options, brokers.start(), folder, **{"min.insync.replicas": "2"})
        try:
            bench.carillon()
            return [bench.offer(options.rate) for _ in range(options.rounds)]
        finally:
            bench.close()


def measure(options):
    found = {"seconds": options.seconds, "rounds": options.rounds, "rate": options.rate}
    with tempfile.TemporaryDirectory(prefix="carillon-bench-api.") as folder:
        for part in ("rates", "latency"):
            pathlib.Path(folder, part).mkdir()
        rows = rates(options, pathlib.Path(folder, "rates"))
        times = latencies(options, pathlib.Path(folder, "latency"))
    found["throughput"] = {name: median(each)._asdict() | {"runs": each} for name, each in rows.items()}
    found["latency"] = median(times)._asdict() | {"runs": times}
    return found | {"ratios": ratios(rows)}


def show(found):
    print(
        f"\nMedians of {found['rounds']} runs of {found['seconds']} s\n"
        f"{'connections':15}{'requests/s':>12}{'µs CPU each':>13}{'p50 ms':>9}{'p99 ms':>9}{'peak MB':>9}"
    )
    for name, row in found["throughput"].items():
        print(f"{name:15}{row['rate']:12,.0f}{row['cpu']:13.1f}{row['p50']:9.2f}{row['p99']:9.2f}{row['peak']:9.0f}")
    for name, row in found["ratios"].items():
        rate, cpu = ["{:.2f} ({:.2f} to {:.2f})".format(*row[field]) for field in ("rate", "cpu")]
        print(f"{name}: requests/s {rate}, CPU {cpu}")
    row = found["latency"]
    print(
        f"{row['rate']:,.0f}/s offered, three brokers: p50 {row['p50']:.1f} ms, p99 {row['p99']:.1f} ms, most {row['most']:.0f} ms"
    )


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench --api", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=15, help="of each run; default 15")
    parser.add_argument("--rounds", type=int, default=5, help="of each, in turn; the medians are shown")
    parser.add_argument("--rate", type=int, default=1_000, help="requests a second for the latency; default 1,000")
    parser.add_argument("--warm-up", type=int, default=5, help="seconds before, at the same rate; default 5")
    parser.add_argument("--quick", action="store_true", help="everything, once and small")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.rounds, options.warm_up = 2, 1, 1
    options.carillon, options.direct = os.environ["CARILLON"], os.environ["DIRECT"]
    return tell(options.json, lambda: measure(options), show, targets)


if __name__ == "__main__":
    sys.exit(main())
