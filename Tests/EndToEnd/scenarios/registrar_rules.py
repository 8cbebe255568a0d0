"""A rule machine for devices: whatever is asked of three processes of the API, in whatever order, twice, late and at once, while
processes and the broker come and go, the answers, the topics and the pushes are those of one sequence of commands."""

import collections
import contextlib
import http.client
import json
import os
import shutil
import signal
import sys
import threading
import time
from typing import NamedTuple, Optional

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, fixed_dictionaries, integers, lists, permutations, sampled_from, tuples

from generator.inputs import Input, compact, event_about
from harness.cluster import Cluster
from harness.daemon import wait_for_daemons
from harness.http_api import create_key, wait_until_ready
from harness.scenario import main, scenario
from harness.waiting import Failure, now_ms, pause, wait_for
from harness.world import check
from model.registrar import verify_registry
from model.registrar_answers import DONE, Exchange, check_answers, check_lasting, shows
from model.registrar_decisions import check_addresses, check_decisions
from scenarios.registrar import SECRET, Desk, Registrar, RegistrarWorld, user_token

SIZES = {"steps": 300}
# After so many the log is verified, and whom a push reaches.
STEPS_OF_A_PART = 1_000
# Hypothesis chooses anew which rules there are after so many.
STEPS_OF_AN_EXAMPLE = 50
# Before a disturbance, at least.
CALM_STEPS = 30
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
ADDRESSES = [{"kind": "registration_token", "value": f"token-{number}"} for number in range(4)]
ADDRESSES += [{"kind": "installation_id", "value": f"fid-{number}"} for number in range(4)]
ADDRESSES += [{"kind": "apns_token", "value": f"{number:064x}"} for number in range(4)]
# What no registrar takes.
REFUSED = [["user/person 1"], [f"place/{number}" for number in range(201)]]


class Pipeline(Registrar):
    roles = "pipeline"


class Over(BaseException):
    """Ends the machine. Hypothesis would do the steps of an ordinary failure again, in a world that they have changed."""

    def __init__(self, failure):
        super().__init__(failure)
        self.failure = failure


class RulesWorld(RegistrarWorld):
    """Two registrars, three processes of the API and a pipeline, at a broker of their own, and all that clients were told."""

    def __init__(self, harness, brokers):
        super().__init__(harness, "registrar-rules", Cluster(brokers.start()))
        self.brokers = brokers
        self.cluster.create_topics({f"{self.name}.requests": (1, {})})
        self.key = create_key(harness, self.folder, "devices:write", "devices:read")
        (self.folder / "secret").write_bytes(SECRET)
        issuer = {"iss": "shop", "kid": "1", "alg": "HS256", "secret_file": "secret", "audiences": ["place/*", "channel/*"]}
        (self.folder / "issuers.json").write_text(json.dumps([issuer]))
        more = {"api.wait": f"{WAIT}s", "subscriptions.max-lag": f"{LAG}s", "api.issuers": f"@{self.folder}/issuers.json"}
        self.desks = [Desk(self, name, **more).start() for name in "xyz"]
        self.registrars = [self.registrar(name).start() for name in "ab"]
        self.pipeline = self.registrar("p", Pipeline)
        self.pipeline.configure(self.settings("p") | {"topic.requests": f"{self.name}.requests"})
        self.pipeline.start()
        wait_until_ready(*self.desks)
        self.exchanges, self.lock = [], threading.Lock()
        self.under_way, self.disturbance, self.failures = [], None, []
        self.counts = collections.Counter()

    # Requests.

    def exchange(self, desk, method, path, **members):
        with self.lock:
            self.exchanges.append(Exchange(len(self.exchanges), desk.name, method, path, **members))
            return self.exchanges[-1]

    def send(self, desk, exchange, credential):
        """Asks, and notes what it is told."""
        headers = {"Authorization": f"Bearer {credential}", "traceparent": exchange.trace} | exchange.headers
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
        """What a GET shows."""
        return self.send(desk, self.exchange(desk, "GET", f"/v1/{resource}"), self.key)

    def ask(self, desk, exchange, credential):
        """Asks, and looks at the same process what it is told then."""
        if self.send(desk, exchange, credential).status in DONE:
            self.look(desk, exchange.resource)

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

    def ask_beside(self, *arguments):
        while sum(each.is_alive() for each in self.under_way) >= MOST_AT_ONCE:
            pause(0.01)
        self.under_way = [each for each in self.under_way if each.is_alive()] + [self.begin(self.ask, *arguments)]

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

    def step(self):
        """Ends the machine where something has failed."""
        try:
            self.expect_running()
        except Exception as failure:
            raise Over(failure) from None

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
        check_answers(self.exchanges, registry.commands, decisions, LAG, report)
        check_lasting(self.exchanges, registry.devices, report)
        report.print()
        told = collections.Counter(each.code or each.status for each in self.exchanges if each.asked is not None)
        print(f"   told: {dict(told)}; {dict(self.counts)}", flush=True)
        check(report)
        for desk in self.desks:
            for device in DEVICES:
                self.expect_shown(desk, device, decisions)
        self.expect_pushed(decisions)

    def expect_shown(self, desk, device, decisions):
        state = decisions.devices.get(device)

        def is_shown():
            found = self.look(desk, f"devices/{device}")
            return found.status in (200, 404) and shows(found.answer if found.status == 200 else None, state)

        wait_for(f"{desk.name} shows {device} as {state}", is_shown, 20)

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
        topics = {"events": self.topics["events"], "requests": f"{self.name}.requests"}
        inputs, sources = {"events": [], "requests": []}, {}
        for number, audience in enumerate(audiences):
            name = f"{now_ms()}-{number}"
            if audience in PLACES:
                order = {"id": name, "place_id": audience.removeprefix("place/"), "status": "pending"}
                kind, made = "events", event_about(order, name)
            else:
                request = {"request_id": name, "audience": audience, "message": {"title": "T"}}
                kind, made = "requests", Input(audience.encode(), compact(request))
            end = self.cluster.ends(topics[kind])[0]
            sources[f"{topics[kind]}/0/{end + len(inputs[kind])}"] = audience
            inputs[kind].append(made)
        for kind, made in inputs.items():
            self.cluster.produce(topics[kind], made)

        def is_done():
            return all(self.cluster.committed(self.name, each) == self.cluster.ends(each) for each in topics.values())

        wait_for_daemons("the pipeline has processed them", is_done, [self.pipeline])
        self.cluster.wait_until_readable([self.topics["dispatch"]])
        found = {audience: collections.Counter() for audience in audiences}
        for each in self.read("dispatch"):
            if audience := sources.get(dict(each.headers)["source"].decode()):
                found[audience][each.key.decode()] += 1
        return found


def body_of(device, **members):
    """A whole device. Each has an app of its own, so that a subscription says whose it is."""
    return {name: value for name, value in ({"app": f"com.example.{device}"} | members).items() if value is not None}


class Way(NamedTuple):
    """How something is asked: which process, beside the next steps or waiting for the answer, on which condition, and by whom."""

    process: int
    beside: bool = False
    condition: Optional[str] = None
    # The person; None: the backend.
    person: Optional[str] = None


PROCESS = sampled_from(range(3))
DEVICE = sampled_from(DEVICES)
AUDIENCES = sampled_from([None] * 15 + REFUSED).flatmap(
    lambda refused: permutations(PLACES + CHANNELS).map(lambda each: refused or each[:3])
)
MEMBERS = fixed_dictionaries(
    {
        "address": sampled_from([*ADDRESSES, None]),
        "person": sampled_from([*PERSONS, None]),
        "locale": sampled_from(["de", "en-GB", None]),
        "audiences": AUDIENCES,
    }
)
WAY = tuples(PROCESS, booleans()).map(lambda each: Way(*each))
ON_A_CONDITION = sampled_from([None, None, None, None, "known", "old", "any", "new"])
ANY_WAY = tuples(PROCESS, booleans(), ON_A_CONDITION).map(lambda each: Way(*each))
# How the app's counter of its changes goes on; None: the app does not count.
GENERATION = sampled_from([None, None, None, 1, 1, 0, -1])

# Whether a registrar is away until the other one decides, which takes longer than all else.
IS_MISSED = sampled_from([False, False, True])


class Clients:
    """What apps and backends remember. What they ask for next depends on no answer but for the revisions in If-Match."""

    def __init__(self, world):
        self.world = world
        # By device: the last body of a PUT that may be taken, and the app's counter of its changes.
        self.bodies, self.generations = {}, collections.Counter()
        # Everything that was asked for, to be asked for again.
        self.requests = []
        # What a command says of its author, and the credential.
        self.backend = {"by": f"key:{world.key.split('_')[2]}"}, world.key
        self.users = {person: self.user(person) for person in PERSONS}

    @staticmethod
    def user(person):
        issued = now_ms() // 1000
        token = user_token(person, iat=issued, exp=issued + 43_200, audiences=["place/*", "channel/*"])
        return {"by": f"user:{person}", "issued_at": issued * 1000}, token

    def condition(self, path, kind):
        """Headers, and what they are in a command."""
        if kind in ("known", "old"):
            revision = self.revision(path) if kind == "known" else 0
            return {"If-Match": f'"{revision}"'}, {"if_revision": revision}
        return {
            None: ({}, {}),
            "any": ({"If-Match": "*"}, {"if_exists": True}),
            "new": ({"If-None-Match": "*"}, {"if_exists": False}),
        }[kind]

    def revision(self, path):
        """The newest that was told."""
        told = (each for each in reversed(self.world.exchanges) if path.startswith(f"/v1/{each.resource}") and each.status in DONE)
        return next((each.answer["revision"] for each in told if "revision" in each.answer), 0)

    def ask(self, way, method, path, asked, body=None):
        """`asked`: the members of its command."""
        headers, if_members = self.condition(path, way.condition)
        content = {} if body is None else {"Content-Type": "application/json"}
        author, credential = self.users[way.person] if way.person else self.backend
        members = {
            "author": author,
            "asked": if_members | asked,
            "body": None if body is None else compact(body),
            "headers": headers | content,
        }
        self.requests.append((method, path, members, credential))
        self.repeat(way)

    def repeat(self, way, back=1):
        """The same bytes as of the request so many ago."""
        method, path, members, credential = self.requests[-min(back, len(self.requests))]
        desk = self.world.desks[way.process]
        exchange = self.world.exchange(desk, method, path, **members)
        (self.world.ask_beside if way.beside else self.world.ask)(desk, exchange, credential)

    def put(self, way, device, body):
        if body.get("audiences") not in REFUSED:
            self.bodies[device] = body
        asked = {"action": "change_device", "device": device, "whole": True} | body
        self.ask(way, "PUT", f"/v1/devices/{device}", asked, body)


def calmly():
    """Only some steps after the last disturbance, and after the beginning: what is drawn in an example depends on nothing else."""
    return precondition(lambda machine: machine.calm_steps >= CALM_STEPS)


class Rules(RuleBasedStateMachine):
    """What clients and operators do: each rule is a step, and one for another operation is one more method."""

    def __init__(self, world, clients):
        super().__init__()
        self.world, self.clients, self.calm_steps = world, clients, 0

    @invariant()
    def is_running(self):
        """Whatever a rule has done, every process goes on."""
        self.calm_steps += 1
        self.world.step()

    @initialize(device=DEVICE, process=PROCESS, members=MEMBERS)
    def begin(self, device, process, members):
        """There is something to be repeated: Hypothesis does little else in its first, simplest example."""
        self.clients.put(Way(process), device, body_of(device, **members))

    @rule(device=DEVICE, way=ANY_WAY, members=MEMBERS, generation=GENERATION)
    def replace(self, device, way, members, generation):
        if generation is not None:
            self.clients.generations[device] += generation > 0
            members = members | {"generation": max(0, self.clients.generations[device] + min(generation, 0))}
        self.clients.put(way, device, body_of(device, **members))

    @rule(device=DEVICE, way=WAY, address=sampled_from(ADDRESSES))
    def rotate(self, device, way, address):
        self.clients.put(way, device, self.body(device) | {"address": address})

    @rule(device=DEVICE, way=WAY, person=sampled_from(PERSONS), is_own=booleans())
    def log_in(self, device, way, person, is_own):
        """By the backend, or by the person's own token."""
        way = way._replace(person=person if is_own else None)
        self.clients.put(way, device, self.body(device) | {"person": person})

    @rule(device=DEVICE, way=ANY_WAY, person=sampled_from([*PERSONS, None]))
    def log_out(self, device, way, person):
        asked = {"action": "change_device", "device": device, "whole": False, "person": None}
        self.clients.ask(way._replace(person=person), "DELETE", f"/v1/devices/{device}/person", asked)

    @rule(device=DEVICE, way=ANY_WAY, person=sampled_from([*PERSONS, None]))
    def delete(self, device, way, person):
        asked = {"action": "delete_device", "device": device}
        self.clients.ask(way._replace(person=person), "DELETE", f"/v1/devices/{device}", asked)

    @rule(way=WAY)
    def repeat(self, way):
        """As after a time-out."""
        self.clients.repeat(way)

    @rule(way=WAY, back=integers(2, 40))
    def come_late(self, way, back):
        """A copy of an older request has been on its way until now."""
        self.clients.repeat(way, back)

    @rule(device=DEVICE, process=PROCESS)
    def look(self, device, process):
        self.world.look(self.world.desks[process], f"devices/{device}")

    @rule(device=DEVICE, processes=permutations(range(3)), members=lists(MEMBERS, min_size=2, max_size=3))
    def race_for_device(self, device, processes, members):
        for process, each in zip(processes, members, strict=False):
            self.clients.put(Way(process, beside=True), device, body_of(device, **each))

    @rule(address=sampled_from(ADDRESSES), processes=permutations(range(3)), devices=permutations(DEVICES))
    def race_for_address(self, address, processes, devices):
        for process, device in zip(processes, devices, strict=False):
            self.clients.put(Way(process, beside=True), device, self.body(device) | {"address": address})

    @calmly()
    @rule(process=PROCESS)
    def kill_process(self, process):
        self.disturb("processes killed", self.world.restart_desk, self.world.desks[process])

    @calmly()
    @rule(which=sampled_from(range(2)), forgets=booleans(), is_missed=IS_MISSED)
    def kill_registrar(self, which, forgets, is_missed):
        registrar = self.world.registrars[which]
        self.disturb("registrars killed", self.world.restart_registrar, registrar, forgets, is_missed)

    @calmly()
    @rule(process=PROCESS)
    def freeze_process(self, process):
        self.disturb("processes frozen", self.world.freeze, self.world.desks[process], WAIT + 0.5)

    @calmly()
    @rule(which=sampled_from(range(2)), is_missed=IS_MISSED)
    def freeze_registrar(self, which, is_missed):
        registrar = self.world.registrars[which]
        self.disturb("registrars frozen", self.world.freeze, registrar, SESSION + 1 if is_missed else 1)

    @calmly()
    @rule()
    def pause_broker(self):
        self.disturb("pauses of the broker", self.world.pause_broker, WAIT + 0.5)

    def disturb(self, *arguments):
        self.calm_steps = 0
        self.world.disturb(*arguments)

    def body(self, device):
        """What its app has last sent."""
        default = body_of(device, address=ADDRESSES[DEVICES.index(device)], audiences=PLACES[:2] + CHANNELS[:1])
        return self.clients.bodies.get(device, default)


@scenario(
    "whatever clients ask for, twice, late and at once, over kills and freezes, is one sequence of commands, to the last push"
)
def rules(harness):
    with harness.brokers() as brokers:
        world = RulesWorld(harness, brokers)
        set_hypothesis_home_dir(world.folder)
        clients, steps = Clients(world), harness.sizes.steps
        try:
            for part in range(0, steps, STEPS_OF_A_PART):
                run_part(world, clients, harness.seed + part, min(STEPS_OF_A_PART, steps - part))
                world.verify()
        finally:
            world.end_disturbance()
            world.kill_daemons()


def run_part(world, clients, part_seed, steps):
    """Hypothesis chooses the rules and what they are given. It shrinks nothing: each attempt would need a cluster of its own."""
    options = settings(
        max_examples=max(1, steps // STEPS_OF_AN_EXAMPLE),
        stateful_step_count=STEPS_OF_AN_EXAMPLE,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seed(part_seed)(lambda: Rules(world, clients)), settings=options)
    except Over as over:
        raise over.failure from None


if __name__ == "__main__":
    sys.exit(main("registrar-rules", __doc__, globals(), sizes=SIZES))
