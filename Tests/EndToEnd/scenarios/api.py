"""The HTTP API over kills, a drain and a broker that stands, with requests that come twice and late: what a client was told is what
the topic has."""

import collections
import contextlib
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import threading
import time

from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from generator.inputs import Input, subscription_key
from harness.cluster import Cluster
from harness.daemon import Daemon, wait_for_daemons
from harness.http_api import TOPIC, APIProcess, Attempt, create_key, wait_until_ready
from harness.project import ROOT
from harness.rendering import line_of
from harness.scenario import main, scenario
from harness.waiting import PATIENCE, Failure, expect, pause

BROADCASTS, CONTROL, EVENTS = "notifications.broadcasts", "notifications.control", "orders.events"
SUBSCRIPTIONS, DISPATCH, DELIVERIES = "notifications.subscriptions", "notifications.dispatch", "notifications.deliveries"
SIZES = {"seconds": 8, "clients": 6, "kills": 2}
# What a write may take: api.wait.
WAIT = 2
RECORDED = (200, 202)
KNOWN = re.compile(r"^carillon_api_known_requests ([0-9.e+]+)$", re.MULTILINE)
MONITORING = [ROOT / "docs/operations" / name for name in ("alerts.yml", "grafana-dashboard.json")]
# For how long, in seconds, a request may be on its way whose client has sent half of it.
LONGEST_WAY = 2


class API:
    """Three processes on one topic, clients that repeat until they are answered, and everything that they were told."""

    def __init__(self, harness, brokers, folder):
        self.harness, self.brokers = harness, brokers
        self.cluster = Cluster(brokers.start())
        self.cluster.create_topics({topic: (3, {}) for topic in (TOPIC, EVENTS, DISPATCH, DELIVERIES)})
        # What was subscribed when is known for so long.
        kept = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(29 * 86_400_000)}
        self.cluster.create_topics({SUBSCRIPTIONS: (3, kept)})
        others = (BROADCASTS, CONTROL, f"{BROADCASTS}.journal", "notifications.dead-letters", "notifications.journal")
        self.cluster.create_topics({topic: (1, {}) for topic in others})
        self.key = create_key(harness, folder, "send", "broadcast", "events:write", "trace:read")
        settings = {"api.wait": f"{WAIT}s", "topic.broadcasts": BROADCASTS, "topic.control": CONTROL, "api.events": "on"}
        self.processes = [
            APIProcess(harness, self.cluster, folder, name, **settings | {"instance.id": name}).start()
            for name in ("one", "two", "three")
        ]
        settings = {"kafka.bootstrap.servers": self.cluster.bootstrap, "topic.requests": TOPIC, "schedule": "off"}
        self.pipeline = Daemon("pipeline", folder, settings | {"state.dir": folder / "pipeline"}, "earliest", harness.carillon)
        self.is_over = False
        self.numbers, self.lock, self.attempts = itertools.count(), threading.Lock(), []
        wait_until_ready(*self.processes)

    def attempt(self, process, request_id, body, late=0):
        with self.lock:
            attempt = Attempt(next(self.numbers), request_id, body)
            self.attempts.append(attempt)
        return attempt.send(http.client.HTTPConnection("127.0.0.1", process.port, timeout=30), self.key, late)

    def look(self, process, request_id):
        """The status of a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=5)
        connection.request("GET", f"/v1/requests/{request_id}", headers={"Authorization": f"Bearer {self.key}"})
        with contextlib.closing(connection):
            return connection.getresponse().status

    def ask(self, process, method, path, body=None, headers=None):
        """The status and the answer; again where the process says that it does not know yet."""
        deadline = time.monotonic() + 30
        while True:
            status, answer = process.ask(self.key, method, path, body, headers)
            if status != 503 or time.monotonic() > deadline:
                return status, answer
            pause(0.1)

    def broadcast(self):
        """What one process has written the other one knows at once, whoever cancels it."""
        one, two, _ = self.processes
        path = "/v1/broadcasts/1235"
        body = {"actiontype": "non-display", "notificationtype": "enable-feature", "expiry": "3600000millis"}
        for process, other in [(one, two), (two, one)]:
            # On a busy machine Kafka may answer too late the first time.
            status, sent = self.ask(process, "PUT", f"{path}?max_devices=0", body)
            expect("a broadcast", (status in RECORDED, sent.get("devices")), (True, 0))
            same = {name: value for name, value in sent.items() if name != "devices"}
            expect("it again elsewhere", self.ask(other, "PUT", path, body), (200, same))
            status, answer = self.ask(other, "PUT", path, body | {"data": "x"})
            expect("another with its id", (status, answer["code"]), (409, "live"))
            status, answer = self.ask(process, "GET", path)
            expect("its status", (status, answer["state"], answer["record"]), (200, "waiting", sent["record"]))
            status, answer = self.ask(other, "GET", f"/v1/explain?broadcast=1235&device={'0' * 64}")
            told = (status, answer.get("sent"), [each["outcome"] for each in answer.get("fates", [])])
            expect("why a device does not have it", told, (200, False, ["not_subscribed"]))
            status, answer = self.ask(other, "DELETE", path)
            expect("its end", (status in (200, 204), answer.get("reached", 0)), (True, 0))
            expect("its end again", self.ask(process, "DELETE", path)[0], 204)
        expect("the newest record", self.cluster.read(BROADCASTS)[-1].value, None)

    def events(self, folder):
        """CloudEvents' own binding posts events; of a batch all are recorded or none, and a repeat is folded as a duplicate."""
        one, two, _ = self.processes

        def event(number, data):
            attributes = {"id": f"e{number}", "source": "webshop", "type": "ORDER_CREATED", "datacontenttype": "application/json"}
            return CloudEvent(attributes, data)

        def order(number):
            return {"order": {"id": str(number), "place_id": "42"}}

        def batch(*events):
            content = b"[" + b",".join(to_structured_event(each).body for each in events) + b"]"
            return content, {"Content-Type": "application/cloudevents-batch+json"}

        before = self.cluster.ends(EVENTS)
        status, answer = self.ask(one, "POST", "/v1/events", *batch(event(1, order(1)), event(2, {"order": 7})))
        expect("a batch with a bad event", (status, len(answer["errors"]), self.cluster.ends(EVENTS)), (422, 1, before))
        positions = []
        for process, number in [(one, 1), (two, 1), (two, 3)]:
            messages = [batch(event(number, order(number)), event(number + 1, order(number + 1)))]
            if number == 3:
                singles = [to_binary_event(event(5, order(5))), to_structured_event(event(6, order(6)))]
                messages += [(each.body, {name.title(): value for name, value in each.headers.items()}) for each in singles]
            for message in messages:
                status, answer = self.ask(process, "POST", "/v1/events", *message)
                expect("events", status, 202)
                positions += answer["positions"]
        records = self.cluster.read(EVENTS)
        by_place = {record.source: record for record in records}
        keys = [by_place[place].key.decode() for place in positions]
        expect("the orders of the events", keys, ["1", "2", "1", "2", "3", "4", "5", "6"])
        file = folder / "events.jsonl"
        file.write_text("".join(line_of(record) + "\n" for record in records))
        report = json.loads(self.harness.command("check-config", "--events", str(file), "--json", settings={}))["events"]
        expect("notifications", sum(report["notifications"].values()), 6)
        expect("what notifies nobody", report["suppressed"], {"duplicate": len(records) - 6})

    def subscribe(self, audience):
        """Subscribes a device; returns its hash."""
        token = f"a-made-up-token-{audience}"
        subscription = {"audience": audience, "token": token, "platform": "fcm", "app": "com.example.shop"}
        self.cluster.produce(SUBSCRIPTIONS, [Input(subscription_key(audience, token), json.dumps(subscription).encode())])
        return hashlib.sha256(token.encode()).hexdigest()

    def race(self, *audiences):
        """The id of a request that two processes have recorded at once, each for another audience of these, and which none takes
        again once they have read it."""
        for number in range(100):
            attempts, request_id = [], f"raced-{audiences[0].partition('/')[2]}-{number}"

            def put(process, audience, request_id=request_id, attempts=attempts):
                attempts.append(self.attempt(process, request_id, {"audience": audience, "message": {"title": process.name}}))

            threads = [threading.Thread(target=put, args=each) for each in zip(self.processes, audiences, strict=False)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            if [each.status for each in attempts] == [202, 202]:
                break
        else:
            raise Failure(f"no two processes have recorded one id in {number + 1} attempts")
        other = {"audience": audiences[0], "message": {"title": "another"}}
        for process in self.processes:
            # What one has written the others read within a second on a quiet machine.
            wait_for_daemons("it has read the id", lambda at=process: self.look(at, request_id) == 200, self.processes, 10)
            expect("another content", self.attempt(process, request_id, other).answer.get("code"), "other-content")
        return request_id

    def explain(self):
        """What becomes of requests once a pipeline runs: a push, nothing and a dead letter, each found from its record."""
        process, audience = self.processes[0], "user/looked-for"
        device = self.subscribe(audience)
        raced = {each: self.subscribe(each) for each in ("user/first", "user/second", "user/same")}
        both, once = self.race("user/first", "user/second"), self.race("user/same", "user/same")
        bodies = {
            "sent": {"audience": audience, "message": {"title": "a"}},
            "suppressed": {"audience": "user/nobody", "message": {"title": "b"}},
        }
        ends, devices = self.cluster.ends(TOPIC), {"sent": {"fcm": 1, "apns": 0}, "suppressed": {"fcm": 0, "apns": 0}}
        for name, body in bodies.items():
            status, answer = self.ask(process, "PUT", f"/v1/requests/{name}?dry_run=1", body)
            expect("a dry run", (status, answer["devices"], len(answer["messages"])), (200, devices[name], 2))
        expect("the ends of the topic after dry runs", self.cluster.ends(TOPIC), ends)
        records = {name: self.ask(process, "PUT", f"/v1/requests/{name}", body)[1]["record"] for name, body in bodies.items()}
        # A producer of its own may write what the API refuses.
        bad = {"request_id": "dead_letter", "audience": "user/1", "message": {"title": 7}}
        self.cluster.produce(TOPIC, [Input(b"user/1", json.dumps(bad).encode())], partition=0)
        records["dead_letter"] = f"{TOPIC}/0/{self.cluster.ends(TOPIC)[0] - 1}"

        def status(name, of=None):
            place = records[of or name].partition("/")[2].replace("/", "-")
            return self.ask(process, "GET", f"/v1/requests/{name}?record={place}")[1]

        expect("before the pipeline runs", {status(name)["status"] for name in records}, {"recorded"})
        self.pipeline.start()
        wait_for_daemons(
            "each request has what became of it",
            lambda: all(status(name)["status"] == name for name in records),
            [self.pipeline, *self.processes],
            90,
        )
        expect("the dead letter", status("dead_letter")["dead_letter"]["code"], "bad_request")
        expect("a record that is another request", status("other", of="sent")["code"], "not-found")
        found = status("sent")
        expect("what was sent, without a sender", (found["devices"], found["outcomes"]), (1, {}))
        wanted = {(both, raced["user/first"]): 1, (both, raced["user/second"]): 1, (once, raced["user/same"]): 1}

        def pushed():
            pushes = [
                (dict(each.headers).get("request-id", b"").decode(), each.key.decode()) for each in self.cluster.read(DISPATCH)
            ]
            return collections.Counter(each for each in pushes if each[0] in (both, once))

        processes = [self.pipeline, *self.processes]
        wait_for_daemons("an id with two audiences is sent to both", lambda: pushed().keys() >= wanted.keys(), processes, 60)
        expect("pushes of ids that were recorded twice", pushed(), wanted)
        (push,) = [record for record in self.cluster.read(DISPATCH) if record.key.decode() == device]
        outcome = {"outcome": "accepted", "topic": DISPATCH, "partition": push.partition, "offset": push.offset}
        outcome |= {"message_id": found["request_id"], "device": device, "platform": "fcm", "attempts": 1}
        cancelled = [self.ask(self.processes[0], "DELETE", "/v1/requests/sent")]
        self.cluster.produce(DELIVERIES, [Input(device.encode(), json.dumps(outcome).encode())], partition=push.partition)
        expect("what its provider has said", status("sent")["outcomes"], {"accepted": 1})
        wait_for_daemons(
            "another process knows whom the cancelled request has reached",
            lambda: cancelled.append(self.ask(self.processes[1], "DELETE", "/v1/requests/sent")) or cancelled[-1][0] == 200,
            self.processes,
        )
        expect("answers before", {code for code, _ in cancelled[:-1]}, {202})
        told = {"request_id": "sent", "status": "cancelled", "devices": 1, "cancelled": 0, "already_sent": 1}
        found = cancelled[-1][1]
        expect("whom it has reached", found, told | {"recorded_at": found.get("recorded_at")})
        ends = self.cluster.ends(CONTROL)
        expect("a third process", self.ask(self.processes[2], "DELETE", "/v1/requests/sent"), cancelled[-1])
        expect("the end of the topic after a repeated cancel", self.cluster.ends(CONTROL), ends)
        code, found = self.ask(process, "GET", "/v1/deliveries")
        expect("all outcomes", (code, found["total"]["outcomes"], found["groups"][0]["outcome"]), (200, 1, "accepted"))
        code, found = self.ask(process, "GET", "/v1/explain?request=sent")
        expect("what explain says", (code, [each["outcome"] for each in found["explanations"]]), (200, ["sent"]))
        (push,) = found["explanations"][0]["pushes"]
        expect("of which device", (push["device"], [each["outcome"] for each in push["outcomes"]]), (device, ["accepted"]))
        code, found = self.ask(process, "GET", f"/v1/explain?request=suppressed&device={device}")
        expect("what explain says of a device that never was to get it", (code, found["code"]), (404, "not-found"))
        code, found = self.ask(process, "GET", "/v1/explain?order=1")
        expect("an order's events", (code, {each["order_id"] for each in found["explanations"]}), (200, {"1"}))

    def monitored(self):
        """Alerts and the board ask for series that a process has."""
        pages = "\n".join(process.page("/metrics") for process in self.processes)
        asked = {name for file in MONITORING for name in re.findall(r"\bcarillon_api_[a-z_]+", file.read_text())}
        # Only with devices.
        asked -= {"carillon_api_unchanged_devices_total"}
        expect("series of the API that are asked for", len(asked) > 4, True)
        missing = {name for name in asked if not re.search(rf"^{name}[ {{]", pages, re.MULTILINE)}
        expect("series that no process has", missing, set())

    def client(self, number):
        """Sends one request after another, each until it is recorded. Some come twice at once, and of some a copy comes late."""
        chance, copies = random.Random(f"{self.harness.seed} client {number}"), []

        def copy(*arguments):
            copies.append(threading.Thread(target=self.attempt, args=arguments))
            copies[-1].start()

        for count in itertools.count():
            if self.is_over:
                break
            request_id = f"{number}-{count}"
            body = {"audience": f"user/{number}", "message": {"title": request_id}}
            if chance.random() < 0.2:
                copy(chance.choice(self.processes), request_id, body)
            if chance.random() < 0.1:
                copy(chance.choice(self.processes), request_id, body, chance.uniform(0, LONGEST_WAY))
            while True:
                attempt = self.attempt(chance.choice(self.processes), request_id, body)
                if attempt.status in RECORDED:
                    break
                if attempt.status not in (None, 503):
                    raise Failure(f"{request_id}: {attempt.status} {attempt.answer}")
                pause(0.1)
            if chance.random() < 0.2:
                copy(chance.choice(self.processes), request_id, body)
        for each in copies:
            each.join()

    def disturb(self):
        """Kills, a broker that stands, a drain."""
        chance, sizes = random.Random(f"{self.harness.seed} kills"), self.harness.sizes
        part = sizes.seconds / (sizes.kills + 2)
        for _ in range(sizes.kills):
            pause(part)
            killed = chance.choice(self.processes)
            killed.kill()
            killed.start()
            wait_until_ready(killed)
        pause(part)
        one, two, _ = chance.sample(self.processes, 3)
        os.kill(self.brokers.pid(), signal.SIGSTOP)
        known = next(each for each in self.attempts if each.status == 202)
        pause(WAIT + 1)
        status = self.look(two, known.id)
        os.kill(self.brokers.pid(), signal.SIGCONT)
        expect("a look at a known request while the broker stands", status, 200)
        wait_until_ready(*self.processes)
        one.stop(15)
        one.start()
        wait_until_ready(one)
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

    def is_read(self):
        """Whether each process knows every id that is in the topic."""
        ids = {json.loads(record.value)["request_id"] for record in self.cluster.read(TOPIC)}
        known = [KNOWN.search(process.page("/metrics")) for process in self.processes]
        return all(each and int(float(each[1])) == len(ids) for each in known)

    def verify(self):
        records = self.cluster.read(TOPIC)
        by_trace = collections.Counter(record.traceparent for record in records)
        by_place = {record.source: record for record in records}
        told, seconds = collections.Counter(), []
        unknown = [each for each in self.attempts if each.answer.get("code") == "outcome-unknown"]
        for attempt in self.attempts:
            code = attempt.answer.get("code")
            told[code or attempt.status] += 1
            count = by_trace[attempt.trace]
            # Where a record times out, librdkafka sends what was under way beside it again in a new epoch (docs/api.md).
            if count > (2 if any(each.overlaps(attempt) for each in unknown) else 1):
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
        # A deadline: what it is on a quiet machine is api.wait.
        if max(seconds) > LONGEST_WAY + PATIENCE * (WAIT + 1):
            raise Failure(f"the last answers came after {sorted(seconds)[-5:]} s")
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
            wait_for_daemons("each has read all", api.is_read, api.processes)
            api.repeat()
            api.verify()
            api.broadcast()
            api.events(pathlib.Path(folder))
            api.explain()
            api.monitored()
        finally:
            for each in [*api.processes, api.pipeline] if api else []:
                each.kill_if_running()


if __name__ == "__main__":
    sys.exit(main("api", __doc__, globals(), sizes=SIZES))
