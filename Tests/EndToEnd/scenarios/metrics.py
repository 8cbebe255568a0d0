"""What monitoring sees: a real Prometheus scrapes `carillon run --http`, and its numbers are the verifier's."""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness.brokers import free_port
from harness.cluster import Cluster
from harness.daemon import EXIT_CONFIGURATION, wait_for_daemons
from harness.harness import Harness
from harness.project import ROOT
from harness.prometheus import Prometheus, fetch
from harness.seed import parse
from harness.waiting import Failure, wait_for

OPERATIONS = ROOT / "docs" / "operations"


class Watch:
    """A pipeline, a Prometheus that watches it, and what its numbers have to be."""

    def __init__(self, harness, count):
        self.harness, self.count = harness, count
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-metrics."))
        # Of the test's own where that is possible: they are stopped and killed further down.
        self.brokers = harness.brokers() if harness.kafka_home else None
        self.prometheus = None
        self.began = time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def prepare(self):
        """A daemon that waits for the table and its assignment, with Prometheus watching from the first second."""
        cluster = Cluster(self.brokers.start()) if self.brokers else self.harness.cluster()
        self.world = self.harness.make_world("metrics", cluster, partitions=3, places=200, crowd=20, poison_rate=0.02)
        self.world.create_topics()
        self.address = f"127.0.0.1:{free_port()}"
        self.prometheus = Prometheus(self.folder, free_port(), [self.address])
        self.daemon = self.world.daemon("a", self.world.settings("a", workers=2, http=self.address)).start()
        # Its first answer: a moment later it may be ready.
        status, reasons = wait_for_daemons("it answers", self.answer_of_ready, [self.daemon], 10)
        if status != 503 or not reasons.startswith("not ready\n- "):
            raise Failure(f"/ready of a process that has only just started: {status}, {reasons!r}")
        if (live := self.page("/live")[0]) != 200:
            raise Failure(f"/live of a process that has only just started: {live}")
        self.until_ready("it is ready")

    def answer_of_ready(self):
        """None while nobody listens."""
        found = self.page("/ready")
        return found if found[0] else None

    def page(self, path, method="GET"):
        """Status and body of a page; (0, "") while nobody listens."""
        try:
            status, _, body = fetch(f"http://{self.address}{path}", method)
            return status, body
        except OSError:
            return 0, ""

    def until_ready(self, what, seconds=60):
        wait_for_daemons(what, lambda: self.page("/ready") == (200, "ready\n"), [self.daemon], seconds)
        self.say(what)

    def check_pages(self):
        """Pages that exist and that do not, and a port that is in use."""
        found = {
            f"{method} {path}": self.page(path, method)[0]
            for method, path in (("HEAD", "/metrics"), ("HEAD", "/ready"), ("GET", "/"), ("GET", "/metrics/x"), ("POST", "/ready"))
        }
        wanted = {"HEAD /metrics": 200, "HEAD /ready": 200, "GET /": 404, "GET /metrics/x": 404, "POST /ready": 405}
        if found != wanted:
            raise Failure(f"pages answer {found}, expected {wanted}")
        second = self.world.daemon("b", self.world.settings("b", http=self.address)).start()
        second.expect_exit(EXIT_CONFIGURATION, self.address, "in use", seconds=10)

    def work(self):
        """Sends events through the pipeline, poison among them; returns the verifier's counts."""
        self.world.produce(self.count)
        self.world.wait_until_done()
        report = self.world.verify()
        report.print()
        if report.differences:
            raise Failure("the verifier found differences")
        self.say("verified")
        return report.counts

    def expected(self, counts):
        """What Prometheus has to say, from the verifier's counts and from the topics themselves."""
        read, topics = self.world.cluster.read, self.world.topics
        letters = read(topics["dead-letters"])
        codes = collections.Counter(dict(each.headers)["x-error-code"].decode() for each in letters)
        sources = {dict(each.headers)["source"] for each in read(topics["dispatch"])}
        notifying = {source for source in sources if not source.startswith(b"schedule/")}
        if len(codes) < 3:
            raise Failure(f"too little poison to compare: {dict(codes)}")
        return {
            "sum(carillon_events_total)": counts["events"],
            "sum(carillon_events_total{topic='events'})": counts["events"],
            "sum(carillon_dispatches_total{topic='requests'})": 0,
            "sum(carillon_notifications_total)": counts["notifications"],
            "sum(carillon_dispatches_total)": counts["expected pushes"],
            "sum(carillon_suppressed_events_total)": counts["events"] - counts["dead letters"] - len(notifying),
            "sum(carillon_field_sources_total{field='time_slot'})": counts["notifications"],
            "sum(carillon_transactions_total)": counts["journal records"],
            "sum(carillon_transaction_duration_seconds_count)": counts["journal records"],
            "sum(carillon_append_to_commit_seconds_count)": counts["events"],
            "sum(carillon_consumer_lag_records)": 0,
            "count(carillon_consumer_lag_records)": self.world.partitions,
            "sum(carillon_assigned_partitions)": self.world.partitions,
            "sum(carillon_table_lag_records)": 0,
            "sum(carillon_dead_letters_total)": counts["dead letters"],
        } | {f"sum(carillon_dead_letters_total{{code='{code}'}})": count for code, count in codes.items()}

    def check_counts(self, expected):
        def differences():
            found = {query: self.prometheus.value(query) for query in expected}
            return {query: (value, expected[query]) for query, value in found.items() if value != expected[query]}

        try:
            wait_for("Prometheus has the verifier's numbers", lambda: not differences(), 20)
        except Failure as failure:
            raise Failure(f"{failure}; found and expected: {differences()}") from None
        self.say(f"Prometheus has the verifier's {len(expected)} numbers")

    def check_latency(self):
        """The histogram's mean age lies between nothing and the time since the first event was written."""
        mean = self.prometheus.value("sum(carillon_append_to_commit_seconds_sum) / sum(carillon_append_to_commit_seconds_count)")
        if not 0.001 < mean < time.monotonic() - self.began:
            raise Failure(f"append to commit took {mean} s on average")

    def check_process(self):
        """What the process says about itself, against /proc."""
        pid = self.daemon.process.pid
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        wanted = {
            "process_resident_memory_bytes": (pages, 0.5 * pages),
            "process_open_fds": (len(os.listdir(f"/proc/{pid}/fd")), 8),
            "process_start_time_seconds": (
                time.time() - (time.monotonic() - self.began) / 2,
                (time.monotonic() - self.began) / 2 + 2,
            ),
        }
        for name, (value, tolerance) in wanted.items():
            found = self.prometheus.value(name)
            if found is None or abs(found - value) > tolerance:
                raise Failure(f"{name} is {found}, expected {value} ± {tolerance}")
        version = subprocess.run([self.harness.carillon, "--version"], capture_output=True, text=True, check=True).stdout
        labels = dict(next(iter(self.prometheus.query("carillon_build_info"))))
        if version.strip() != f"carillon {labels['version']} (librdkafka {labels['librdkafka']})":
            raise Failure(f"build info {labels}, --version {version!r}")

    def check_format(self):
        """promtool has no complaint, and every query of the dashboard and the alerts is about metrics that exist. Those of the
        other roles are not here: Tests/Documentation/test_monitoring.py looks for them in the page."""
        _, text = self.page("/metrics")
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        if done.returncode or done.stdout or done.stderr:
            raise Failure(f"promtool check metrics: {done.stdout}{done.stderr}")
        # Series that appear only once something has happened. Tests/Documentation/test_monitoring.py finds them in the page.
        later = {
            "carillon_transaction_duration_seconds",
            "carillon_unreadable_batches_total",
            "carillon_table_unreadable",
            "carillon_held_partitions",
        }
        names = set(re.findall(r"^([a-z_]+)[{ ]", text, re.MULTILINE)) | later
        dashboard = json.loads((OPERATIONS / "grafana-dashboard.json").read_text())
        asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
        for expression in asked:
            self.prometheus.query(expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$role", ".*"))
        alerts = (OPERATIONS / "alerts.yml").read_text()
        for where, expressions in (("the dashboard", " ".join(asked)), ("the alerts", alerts)):
            wanted = set(
                re.findall(
                    r"\b(?:carillon(?!_delivery|_dead_devices|_broadcast|_api|_control|_registrar)|process)_[a-z_]+\b", expressions
                )
            )
            if len(wanted) < 5 or wanted - names:
                raise Failure(f"{where} ask for what is not there: {wanted - names}")
        self.say(f"{len(asked)} expressions of the dashboard answered")

    def check_readiness(self):
        """Off while the broker is stopped or gone, and on again; Prometheus has seen both."""
        pid = self.brokers.pid()
        faults = (
            ("is stopped", lambda: os.kill(pid, signal.SIGSTOP), lambda: os.kill(pid, signal.SIGCONT)),
            ("is killed", self.brokers.kill, self.brokers.start),
        )
        for what, break_it, mend_it in faults:
            break_it()
            try:
                wait_for_daemons(
                    f"/ready says that the broker {what}",
                    lambda: "broker is unreachable" in self.page("/ready")[1],
                    [self.daemon],
                    20,
                )
                if (status := self.page("/ready")[0]) != 503:
                    raise Failure(f"/ready is {status} while the broker {what}")
                wait_for("Prometheus sees it", lambda: self.prometheus.value("carillon_ready") == 0, 10)
                if self.page("/live")[0] != 200:
                    raise Failure(f"/live does not answer while the broker {what}")
            finally:
                mend_it()
            self.until_ready(f"the broker {what} and is back: ready again")
        wait_for("Prometheus sees it", lambda: self.prometheus.value("carillon_ready") == 1, 10)

    def finish(self):
        self.world.wait_until_done()
        self.daemon.stop()
        if self.page("/live") != (0, ""):
            raise Failure("the port is open after the end")

    def perform(self):
        self.prepare()
        self.check_pages()
        self.check_counts(self.expected(self.work()))
        self.check_latency()
        self.check_process()
        self.check_format()
        if self.brokers:
            self.check_readiness()
        else:
            self.say("skipped: what needs a broker of its own, from KAFKA_HOME")
        self.finish()

    def close(self, passed):
        self.harness.close(passed)
        if self.prometheus:
            self.prometheus.stop()
        if self.brokers:
            self.brokers.remove()
        if passed:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"the log of Prometheus: {self.folder}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="Tests/EndToEnd/run metrics", description=__doc__)
    parser.add_argument("--events", type=int, default=2_000)
    options = parse(parser)
    watch = Watch(Harness(options.seed, os.environ), options.events)
    passed = False
    try:
        watch.perform()
        passed = True
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
    finally:
        watch.close(passed)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
