"""The world of the rule machine for devices: processes of the API, registrars, a pipeline and a sender, what clients were told,
and what must hold of it."""

import collections
import contextlib
import http.client
import json
import os
import shutil
import signal
import threading
import time
from urllib.parse import quote

from generator.inputs import Input, compact, event_about
from harness.cluster import Cluster
from harness.daemon import wait_for_daemons
from harness.http_api import create_key, wait_until_ready
from harness.stand_in import StandIn
from harness.waiting import Failure, now_ms, pause, wait_for
from harness.world import check
from model.pushes import read_requests
from model.registrar import verify_registry
from model.registrar_answers import DONE, Exchange, check_answers, check_lasting, shown_in_the_end
from model.registrar_records import check_addresses, check_decisions
from model.registrar_requests import parts
from model.withdrawals import check_pushes
from scenarios.registrar import SECRET, Desk, Registrar, RegistrarWorld

MOST_AT_ONCE = 6
# In seconds: how old what a process of the API knows may be, and after what time a registrar's partition is another one's.
LAG, SESSION = 6, 6
# For how long a process of the API waits for Kafka, and for a decision.
WAIT = 2

# Few of each, so that they meet often.
PLACES = [f"place/{number}" for number in range(4)]
CHANNELS = ["channel/offers", "channel/kino ü"]
PERSONS = [f"person {number}" for number in range(4)]
DEVICES = [f"installation-{number:04}" for number in range(6)]


class Pipeline(Registrar):
    roles = "pipeline"


class Sender(Registrar):
    roles = "deliver"


class RulesWorld(RegistrarWorld):
    """Two registrars, three processes of the API, a pipeline and a sender, at a broker of their own, and all that clients were
    told."""

    def __init__(self, harness, brokers):
        super().__init__(harness, "registrar-rules", Cluster(brokers.start()))
        self.brokers = brokers
        self.topics["requests"] = f"{self.name}.requests"
        self.cluster.create_topics({self.topics["requests"]: (1, {})})
        scopes = ("devices:write", "devices:read", "people:write", "people:read", "people:erase", "operate")
        self.key = create_key(harness, self.folder, *scopes)
        (self.folder / "secret").write_bytes(SECRET)
        issuer = {"iss": "shop", "kid": "1", "alg": "HS256", "secret_file": "secret", "audiences": ["place/*", "channel/*"]}
        (self.folder / "issuers.json").write_text(json.dumps([issuer]))
        more = {"api.wait": f"{WAIT}s", "subscriptions.max-lag": f"{LAG}s", "api.issuers": f"@{self.folder}/issuers.json"}
        self.desks = [Desk(self, name, **more).start() for name in "xyz"]
        self.registrars = [self.registrar(name).start() for name in "ab"]
        self.pipeline = self.registrar("p", Pipeline)
        self.pipeline.configure(self.settings("p") | {"topic.requests": self.topics["requests"]})
        self.pipeline.start()
        self.stand_in = StandIn(harness.stand_in, self.folder / "providers", harness.seed)
        settings = self.settings("s") | self.stand_in.settings()
        # With credentials delivery's are among them.
        harness.command("topics", "create", "--partitions", "1", settings=settings)
        self.sender = self.registrar("s", Sender)
        self.sender.configure(settings)
        self.sender.start()
        wait_until_ready(*self.desks)
        self.producer = self.cluster.producer()
        self.exchanges, self.lock = [], threading.Lock()
        self.under_way, self.disturbance, self.failures = [], None, []
        self.counts = collections.Counter()

    # Requests.

    def exchange(self, desk, method, path, **members):
        with self.lock:
            self.exchanges.append(Exchange(len(self.exchanges), desk.name, method, path, **members))
            return self.exchanges[-1]

    def send(self, desk, exchange, authorization):
        """Asks, and notes what it is told."""
        headers = {"Authorization": authorization, "traceparent": exchange.trace} | exchange.headers
        exchange.began = time.time()
        try:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", desk.port, timeout=60)) as connection:
                connection.request(exchange.method, exchange.path, exchange.body, headers)
                response = connection.getresponse()
                exchange.answer, exchange.status = json.loads(response.read() or "{}"), response.status
        except (OSError, http.client.HTTPException):
            pass
        exchange.ended = time.time()
        return exchange

    def look(self, desk, resource):
        """What a GET shows a backend."""
        return self.send(desk, self.exchange(desk, "GET", f"/v1/{quote(resource)}"), f"Bearer {self.key}")

    def ask(self, desk, exchange, authorization):
        """Asks, and looks at the same process what it is told then."""
        if self.send(desk, exchange, authorization).status in DONE and exchange.method != "GET":
            kind, name = parts(exchange.path)[:2]
            for each in [f"{kind}/{name}"] + ([f"{kind}/{name}/devices"] if kind == "people" else []):
                self.look(desk, each)

    def begin(self, function, *arguments):
        """Runs it beside the next steps."""

        def run():
            try:
                function(*arguments)
            except Exception as failure:
                self.failures.append(failure)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def do_beside(self, *arguments):
        while sum(each.is_alive() for each in self.under_way) >= MOST_AT_ONCE:
            pause(0.01)
        self.under_way = [each for each in self.under_way if each.is_alive()] + [self.begin(*arguments)]

    # Pushes.

    def announce(self, audience, name):
        """An event of a place, or a request to whoever else it is."""
        if audience in PLACES:
            order = {"id": name, "place_id": audience.removeprefix("place/"), "status": "pending"}
            kind, made = "events", event_about(order, name)
        else:
            request = {"request_id": name, "audience": audience, "message": {"title": "T"}}
            kind, made = "requests", Input(audience.encode(), compact(request))
        self.producer.produce(self.topics[kind], key=made.key, value=made.value, headers=list(made.headers))

    def hold(self, desk, is_held):
        """Pushes wait at their sender, or go on; or nothing changes, where the process or the broker does not answer."""
        for provider in ("fcm", "apns"):
            body = {"why": "a test"} if is_held else None
            with contextlib.suppress(OSError, http.client.HTTPException):
                desk.ask(self.key, "PUT" if is_held else "DELETE", f"/v1/providers/{provider}/pause", body)

    # What goes wrong.

    def disturb(self, name, function, *arguments):
        """One after another, and the steps go on meanwhile."""
        self.end_disturbance()
        self.counts[name] += 1
        self.disturbance = self.begin(function, *arguments)

    def end_disturbance(self):
        if self.disturbance:
            self.disturbance.join()
        self.disturbance = None

    def expect_running(self):
        if self.failures:
            raise self.failures[0]
        if not (self.disturbance and self.disturbance.is_alive()):
            for each in self.daemons:
                each.expect_running()

    def restart_desk(self, desk):
        desk.kill()
        desk.start()
        wait_until_ready(desk)

    def restart_registrar(self, registrar, forgets, is_missed):
        """`forgets`: its table is gone; `is_missed`: it is away for so long that the other one decides."""
        registrar.kill()
        if forgets:
            shutil.rmtree(self.folder / registrar.name / "registrar", ignore_errors=True)
        if is_missed:
            pause(SESSION + 1)
        registrar.start()

    def freeze(self, process, seconds):
        process.signal(signal.SIGSTOP)
        pause(seconds)
        process.signal(signal.SIGCONT)

    def pause_broker(self, seconds):
        os.kill(self.brokers.pid(), signal.SIGSTOP)
        pause(seconds)
        os.kill(self.brokers.pid(), signal.SIGCONT)

    # What must hold.

    def settle(self):
        """Nothing is under way, and every command is decided."""
        self.end_disturbance()
        for each in self.under_way:
            each.join()
        self.expect_running()
        wait_until_ready(*self.desks)
        self.wait_until_decided(90)

    def verify(self):
        """The log is one sequence of commands, and answers, devices, subscriptions and pushes are what it says."""
        self.settle()
        registry = self.registry()
        report = verify_registry(registry)
        decisions = check_decisions(registry, report)
        check_addresses(registry.subscriptions, report)
        answered = check_answers(self.exchanges, registry.commands, decisions, LAG, report)
        check_lasting(self.exchanges, registry, report)
        self.check_sent(answered, decisions, report)
        report.print()
        statuses = collections.Counter(each.code or each.status for each in self.exchanges if each.commands)
        print(f"   told: {dict(statuses)}; {dict(self.counts)}", flush=True)
        check(report)
        for desk in self.desks:
            self.expect_shown(desk, decisions)
        self.expect_pushed(decisions)

    def check_sent(self, answered, decisions, report):
        """Nothing waits any more, and no provider got what a logout forbids."""
        for provider in ("fcm", "apns"):
            path = f"/v1/providers/{provider}/pause"
            wait_for(f"{provider} is resumed", lambda path=path: self.desks[0].ask(self.key, "DELETE", path)[0] == 202, 20)
        self.wait_until_dispatched()
        dispatched = self.read("dispatch")

        def outcomes():
            values = (json.loads(each.value) for each in self.read("deliveries"))
            found = {(each["message_id"], each["device"]): each["outcome"] for each in values}
            return found if len(found) == len(dispatched) else None

        found = wait_for_daemons("every push has an outcome", outcomes, [self.sender])
        requests = collections.defaultdict(list)
        for each in read_requests(self.stand_in.log):
            requests[each.message, each.device].append(each)
        check_pushes(dispatched, found, requests, answered, decisions, report)
        report.counts |= {"pushes": len(found), "withdrawn pushes": list(found.values()).count("cancelled")}

    def wait_until_dispatched(self):
        self.producer.flush()
        topics = self.topics["events"], self.topics["requests"]

        def is_done():
            return all(self.cluster.committed(self.name, each) == self.cluster.ends(each) for each in topics)

        wait_for_daemons("the pipeline has processed them", is_done, [self.pipeline])
        self.cluster.wait_until_readable([self.topics["dispatch"]])

    def expect_shown(self, desk, decisions):
        """It comes to show everything as it is in the end."""

        def is_shown(resource, wanted):
            found = self.look(desk, resource)
            return found.answer == wanted if wanted else found.status == 404

        for each in [f"devices/{name}" for name in DEVICES] + [f"people/{name}" for name in PERSONS]:
            wanted = shown_in_the_end(decisions, each)
            wait_for(f"{desk.name} shows {each} as {wanted}", lambda each=each, wanted=wanted: is_shown(each, wanted), 20)

    def expect_pushed(self, decisions):
        """Whom the pipeline sends an event of each place, and a request to each person and channel."""
        wanted = {}
        for address in decisions.owners:
            for key in decisions.wanted(address):
                wanted.setdefault(key.rpartition("|")[0], set()).add(address)
        audiences = PLACES + CHANNELS + [f"user/{person}" for person in PERSONS]
        wanted = {audience: dict.fromkeys(wanted.get(audience, ()), 1) for audience in audiences}
        found = []

        def is_pushed():
            # Of what has changed only just now nobody says when it holds for a push.
            found.append(self.push(audiences))
            return found[-1] == wanted

        try:
            wait_for_daemons("pushes reach whom the devices say", is_pushed, [self.pipeline], 20)
        except Failure as failure:
            differences = {audience: (found[-1][audience], wanted[audience]) for audience in audiences}
            differing = {audience: pair for audience, pair in differences.items() if pair[0] != pair[1]}
            raise Failure(f"{failure}\nfound and expected: {differing}") from None

    def push(self, audiences):
        """By audience, how many pushes each address has got of one event, or one request."""
        before, now = self.cluster.ends(self.topics["dispatch"])[0], now_ms()
        for number, audience in enumerate(audiences):
            self.announce(audience, f"{now}-{number}")
        self.wait_until_dispatched()
        found = {audience: collections.Counter() for audience in audiences}
        for each in self.read("dispatch"):
            if each.offset >= before:
                found[dict(each.headers)["audience"].decode()][each.key.decode()] += 1
        return found
