"""The HTTP API over a kill, a drain and a broker that does not answer: what a client was told is what the topic has."""

import collections
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

from harness.brokers import free_port
from harness.cluster import Cluster
from harness.daemon import Daemon, wait_for_daemons
from harness.prometheus import fetch
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, pause

SIZES = {"seconds": 5, "clients": 6}
TOPIC = "notifications.requests"
# What a write may take: api.wait.
WAIT = 2
RECORDED = (200, 202)


class Process(Daemon):
    """One instance of `carillon api`."""

    def __init__(self, name, folder, settings, binary):
        self.port, self.health = free_port(), free_port()
        super().__init__(name, folder, settings, None, binary)

    def configure(self, settings):
        listening = {"api.http": f"127.0.0.1:{self.port}", "http": f"127.0.0.1:{self.health}"}
        super().configure(settings | listening)
        self.arguments[1] = "api"

    def is_ready(self):
        try:
            return fetch(f"http://127.0.0.1:{self.health}/ready")[2] == "ready\n"
        except OSError:
            return False


class Attempt:
    """One request over HTTP, known by its traceparent; `status` is None where the connection ended without an answer."""

    def __init__(self, number, request_id, body):
        self.trace = f"00-{number + 1:032x}-{1:016x}-01"
        self.id, self.body, self.status, self.answer, self.seconds = request_id, body, None, {}, 0

    def send(self, port, key):
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "traceparent": self.trace}
        try:
            connection.request("PUT", f"/v1/requests/{self.id}", json.dumps(self.body), headers)
            response = connection.getresponse()
            self.answer = json.loads(response.read())
            self.status = response.status
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
            self.seconds = time.monotonic() - began
        return self


class API:
    """Two processes on one topic, clients that repeat until they are answered, and everything that they were told."""

    def __init__(self, harness, brokers, folder):
        self.harness, self.brokers = harness, brokers
        self.cluster = Cluster(brokers.start())
        self.cluster.create_topics({TOPIC: (3, {})})
        keys = folder / "keys.json"
        made = harness.command("api", "key", "create", "--scope", "send", "--file", str(keys), "--json", settings={})
        self.key = json.loads(made)["key"]
        settings = {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "topic.requests": TOPIC,
            "api.keys": f"@{keys}",
            "api.rate": 100_000,
            "api.wait": f"{WAIT}s",
            "state.dir": str(folder / "state"),
        }
        self.processes = [Process(name, folder, settings, harness.carillon).start() for name in ("one", "two")]
        self.is_over = False
        self.numbers, self.lock, self.attempts = itertools.count(), threading.Lock(), []
        self.until_ready(*self.processes)

    def until_ready(self, *processes):
        wait_for_daemons("the API is ready", lambda: all(each.is_ready() for each in processes), processes, 30)

    def attempt(self, process, request_id, body):
        with self.lock:
            attempt = Attempt(next(self.numbers), request_id, body)
            self.attempts.append(attempt)
        return attempt.send(process.port, self.key)

    def look(self, process, request_id):
        """The status of a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=5)
        connection.request("GET", f"/v1/requests/{request_id}", headers={"Authorization": f"Bearer {self.key}"})
        with contextlib.closing(connection):
            return connection.getresponse().status

    def client(self, number):
        """Sends one request after another, each until it is recorded; every third one it repeats at once elsewhere."""
        for count in itertools.count():
            if self.is_over:
                return
            request_id = f"{number}-{count}"
            body = {"audience": f"user/{number}", "message": {"title": request_id}}
            for turn in itertools.count(number + count):
                attempt = self.attempt(self.processes[turn % 2], request_id, body)
                if attempt.status in RECORDED:
                    break
                if attempt.status not in (None, 503):
                    raise Failure(f"{request_id}: {attempt.status} {attempt.answer}")
                pause(0.1)
            if count % 3 == 0:
                self.attempt(self.processes[(turn + 1) % 2], request_id, body)

    def disturb(self):
        """A kill, a broker that stands, a drain."""
        one, two = self.processes
        part = self.harness.sizes.seconds / 6
        pause(part)
        one.kill()
        one.start()
        self.until_ready(one)
        pause(part)
        os.kill(self.brokers.pid(), signal.SIGSTOP)
        known = next(each for each in self.attempts if each.status == 202)
        pause(WAIT + 1)
        status = self.look(two, known.id)
        os.kill(self.brokers.pid(), signal.SIGCONT)
        expect("a look at a known request while the broker stands", status, 200)
        self.until_ready(one, two)
        two.stop(15)
        two.start()
        self.until_ready(two)
        pause(part)

    def load(self):
        failures = []

        def run(number):
            try:
                self.client(number)
            except Exception as failure:
                failures.append(failure)

        clients = [threading.Thread(target=run, args=(number,)) for number in range(self.harness.sizes.clients)]
        for each in clients:
            each.start()
        try:
            self.disturb()
        finally:
            self.is_over = True
            for each in clients:
                each.join()
        if failures:
            raise failures[0]

    def verify(self):
        records = self.cluster.read(TOPIC)
        by_trace = collections.Counter(record.traceparent for record in records)
        by_place = {record.source: record for record in records}
        told, seconds = collections.Counter(), []
        for attempt in self.attempts:
            code = attempt.answer.get("code")
            told[code or attempt.status] += 1
            count = by_trace[attempt.trace]
            if count > 1:
                raise Failure(f"{attempt.id}: one request was written {count} times")
            if attempt.status in RECORDED:
                record = by_place.get(attempt.answer["record"])
                if record is None or json.loads(record.value) != attempt.body | {"request_id": attempt.id}:
                    raise Failure(f"{attempt.id}: {attempt.status} names {attempt.answer['record']}, which is {record}")
            # A 202 may be told to several that ask at once; only an open or unknown end leaves it open whether it was written.
            if count and not (attempt.status in (None, 202) or code == "outcome-unknown"):
                raise Failure(f"{attempt.id}: {attempt.status} {code} was told of a request that is in the topic")
            if attempt.status is not None:
                seconds.append(attempt.seconds)
        # Each client had one under way when the broker stood. One of all may be late on a machine with other work.
        seconds.sort()
        if seconds[-self.harness.sizes.clients] > WAIT + 1 or seconds[-1] > WAIT + 4:
            raise Failure(f"the last answers came after {seconds[-self.harness.sizes.clients :]} s")
        for needed in (200, 202):
            if not told[needed]:
                raise Failure(f"nobody was told {needed}")
        if not told["not-recorded"] + told["outcome-unknown"]:
            raise Failure("the broker that stood was not noticed")
        ids = {json.loads(record.value)["request_id"] for record in records}
        print(f"   {len(self.attempts)} requests of {len(ids)} ids, {len(records)} records; told: {dict(told)}", flush=True)

    def repeat(self):
        """Once all has been read everywhere, a repeat writes nothing."""
        before = self.cluster.ends(TOPIC)
        sample = [each for each in self.attempts if each.status in RECORDED][:: max(1, len(self.attempts) // 200)]
        for process in self.processes:
            for each in sample:
                again = self.attempt(process, each.id, each.body)
                expect(f"{each.id} again", again.status, 200)
                other = self.attempt(process, each.id, each.body | {"collapse_key": "x"})
                expect(f"{each.id} with other content", (other.status, other.answer["code"]), (409, "other-content"))
        expect("the ends of the topic after repeats", self.cluster.ends(TOPIC), before)


@scenario("no 202 is lost, nothing that was certainly not recorded is there, and a repeat writes nothing")
def kept(harness):
    with harness.brokers() as brokers, tempfile.TemporaryDirectory(prefix="carillon-api.") as folder:
        api = None
        try:
            api = API(harness, brokers, pathlib.Path(folder))
            api.load()
            # A follower asks for the ends once a second.
            wait_for_daemons("both have read all", lambda: pause(2) or True, api.processes)
            api.repeat()
            api.verify()
        finally:
            for each in api.processes if api else []:
                each.kill_if_running()


if __name__ == "__main__":
    sys.exit(main("api", __doc__, globals(), sizes=SIZES))
