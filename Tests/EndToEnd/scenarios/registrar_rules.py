"""A rule machine for devices and people: whatever is asked of three processes of the API, in whatever order, twice, late and at
once, while processes and the broker come and go, the answers, the topics and the pushes are those of one sequence of commands."""

import sys

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, fixed_dictionaries, integers, lists, permutations, sampled_from, tuples

from harness.scenario import main, scenario
from scenarios.rules_clients import REFUSED, Clients, Way, body_of
from scenarios.rules_world import CHANNELS, DEVICES, PERSONS, PLACES, SESSION, WAIT, RulesWorld

SIZES = {"steps": 300}
# After so many the log is verified, and whom a push reaches.
STEPS_OF_A_PART = 1_000
# Hypothesis chooses anew which rules there are after so many.
STEPS_OF_AN_EXAMPLE = 25
# Before a disturbance, at least.
CALM_STEPS = 22

ADDRESSES = [{"kind": "registration_token", "value": f"token-{number}"} for number in range(4)]
ADDRESSES += [{"kind": "installation_id", "value": f"fid-{number}"} for number in range(4)]
ADDRESSES += [{"kind": "apns_token", "value": f"{number:064x}"} for number in range(4)]

PROCESS = sampled_from(range(3))
DEVICE, PERSON, ADDRESS = sampled_from(DEVICES), sampled_from(PERSONS), sampled_from(ADDRESSES)
AUDIENCE = sampled_from(PLACES + CHANNELS + ["user/person 1"])
AUDIENCES = sampled_from([None] * 15 + REFUSED).flatmap(
    lambda refused: permutations(PLACES + CHANNELS).map(lambda each: refused or each[:3])
)
LOCALE = sampled_from(["de", "en-GB", None])
ADDRESS_OR_NONE, PERSON_OR_NONE = sampled_from([*ADDRESSES, None]), sampled_from([*PERSONS, None])
MEMBERS = fixed_dictionaries({"address": ADDRESS_OR_NONE, "person": PERSON_OR_NONE, "locale": LOCALE, "audiences": AUDIENCES})
TEXTS = {"locale": LOCALE, "time_zone": sampled_from(["Europe/Berlin", None])}
# Of a PATCH: what a credential may change, or what it may not.
CHANGES = fixed_dictionaries({}, optional=TEXTS | {"address": ADDRESS_OR_NONE}) | fixed_dictionaries(
    {}, optional={"address": ADDRESS_OR_NONE, "person": PERSON_OR_NONE, "audiences": AUDIENCES | sampled_from([None])}
)
CHANGES |= fixed_dictionaries({"audiences": AUDIENCES})
GRANTS = fixed_dictionaries({}, optional=TEXTS | {"audiences": AUDIENCES})
WAY = tuples(PROCESS, booleans()).map(lambda each: Way(*each))
ON_A_CONDITION = sampled_from([None, None, None, None, "known", "old", "any", "new"])
ANY_WAY = tuples(PROCESS, booleans(), ON_A_CONDITION).map(lambda each: Way(*each))
# Who asks: the backend, a person, of whom one is that of the device, or a credential, of which one is that of the device.
WHO = sampled_from([None] * 3 + ["its person"] * 3 + PERSONS + ["its credential"] * 4 + ["a wrong secret", "another device"])
# Whether a PUT asks for another secret.
QUERY = sampled_from(["", "", "?new_secret=1"])
# How the app's counter of its changes goes on; None: the app does not count.
GENERATION = sampled_from([None, None, None, 1, 1, 0, -1])

# Whether a registrar is away until the other one decides, which takes longer than all else.
IS_MISSED = sampled_from([False] * 4 + [True])


class Over(BaseException):
    """Ends the machine. Hypothesis would do the steps of an ordinary failure again, in a world that they have changed."""

    def __init__(self, failure):
        super().__init__(failure)
        self.failure = failure


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
        try:
            self.world.expect_running()
        except Exception as failure:
            raise Over(failure) from None

    @initialize(device=DEVICE, process=PROCESS, members=MEMBERS, renewed=sampled_from([PERSONS, []]))
    def begin(self, device, process, members, renewed):
        """There is something to be repeated: Hypothesis does little else in its first, simplest example, whose rule has the fewest
        arguments and the first name."""
        for person in renewed:
            self.clients.renew(person)
        self.clients.put(Way(process), device, body_of(device, **members))

    @rule(device=DEVICE, way=ANY_WAY, members=MEMBERS, generation=GENERATION)
    def replace(self, device, way, members, generation):
        if generation is not None:
            self.clients.generations[device] += generation > 0
            members = members | {"generation": max(0, self.clients.generations[device] + min(generation, 0))}
        self.clients.put(way, device, body_of(device, **members))

    @rule(device=DEVICE, way=WAY, address=ADDRESS, is_own=booleans(), query=QUERY)
    def rotate(self, device, way, address, is_own, query):
        """By the backend, or by the token of the person who is logged in."""
        body = self.body(device) | {"address": address}
        way = way._replace(who=body.get("person") if is_own else None)
        self.clients.put(way, device, body, query)

    @rule(device=DEVICE, way=WAY, person=PERSON, is_own=booleans(), query=QUERY)
    def log_in(self, device, way, person, is_own, query):
        """By the backend, or by the person's own token; where the app has lost its secret, it asks for another one."""
        way = way._replace(who=person if is_own else None)
        self.clients.put(way, device, self.body(device) | {"person": person}, query)

    @rule(device=DEVICE, way=ANY_WAY, who=WHO, members=CHANGES)
    def change(self, device, way, who, members):
        self.clients.ask(self.by(way, who, device), "PATCH", "devices", device, body=members)

    @rule(device=DEVICE, way=ANY_WAY, who=WHO, method=sampled_from(["PUT", "DELETE"]), audience=AUDIENCE)
    def add_or_remove(self, device, way, who, method, audience):
        self.clients.ask(self.by(way, who, device), method, "devices", device, "audiences", audience)

    @rule(device=DEVICE, way=ANY_WAY, who=WHO)
    def log_out(self, device, way, who):
        self.clients.ask(self.by(way, who, device), "DELETE", "devices", device, "person")

    @rule(person=PERSON, device=sampled_from([[each] for each in DEVICES] + [[]]), way=WAY, who=WHO, is_own=booleans())
    def log_out_elsewhere(self, person, device, way, who, is_own):
        """On one device, or on each."""
        way = way._replace(who=person) if is_own else self.by(way, who, DEVICES[0])
        self.clients.ask(way, "DELETE", "people", person, "devices", *device)

    @rule(device=DEVICE, way=ANY_WAY, who=WHO)
    def delete(self, device, way, who):
        self.clients.ask(self.by(way, who, device), "DELETE", "devices", device)

    @rule(
        way=WAY,
        devices=permutations(DEVICES),
        members=lists(MEMBERS, min_size=1, max_size=3),
        broken=sampled_from([None, None, 0]),
        query=sampled_from(["", "?partial=1"]),
    )
    def bring_many(self, way, devices, members, broken, query):
        lines = [{"device": device} | body_of(device, **each) for device, each in zip(devices, members, strict=False)]
        if broken is not None:
            lines[broken]["locale"] = 7
        self.clients.ask(way, "POST", "devices:import", body=lines, query=query)

    @rule(person=PERSON, way=ANY_WAY, audiences=AUDIENCES)
    def grant(self, person, way, audiences):
        self.clients.ask(way, "PUT", "people", person, "audiences", body=audiences)

    @rule(person=PERSON, way=ANY_WAY, who=WHO, is_own=booleans(), members=GRANTS)
    def change_person(self, person, way, who, is_own, members):
        way = way._replace(who=person) if is_own else self.by(way, who, DEVICES[0])
        self.clients.ask(way, "PATCH", "people", person, body=members)

    @rule(person=PERSON, way=ANY_WAY, who=sampled_from([None] * 5 + PERSONS[:1]))
    def erase(self, person, way, who):
        self.clients.ask(way._replace(who=who), "DELETE", "people", person)

    @rule(person=PERSON)
    def sign_in_again(self, person):
        """The person logs in again at the shop: the token before may be older than an erasure."""
        self.clients.renew(person)

    @rule(way=WAY)
    def repeat(self, way):
        """As after a time-out."""
        self.clients.repeat(way)

    @rule(way=WAY, back=integers(2, 40))
    def come_late(self, way, back):
        """A copy of an older request has been on its way until now."""
        self.clients.repeat(way, back)

    @rule(device=DEVICE, process=PROCESS, who=WHO)
    def look(self, device, process, who):
        self.clients.ask(self.by(Way(process), who, device), "GET", "devices", device)

    @rule(person=PERSON, process=PROCESS, who=WHO, what=sampled_from([[], ["audiences"], ["devices"]]))
    def look_at_person(self, person, process, who, what):
        self.clients.ask(self.by(Way(process), who, DEVICES[0]), "GET", "people", person, *what)

    @rule(audience=sampled_from(PLACES + CHANNELS + [f"user/{person}" for person in PERSONS]))
    def send_pushes(self, audience):
        self.world.counts["announced"] += 1
        self.world.announce(audience, f"announced-{self.world.counts['announced']}")

    @rule(process=PROCESS, is_held=booleans())
    def hold(self, process, is_held):
        """So that a logout finds pushes that wait."""
        self.world.do_beside(self.world.hold, self.world.desks[process], is_held)

    @rule(device=DEVICE, processes=permutations(range(3)), members=lists(MEMBERS, min_size=2, max_size=3))
    def race_for_device(self, device, processes, members):
        for process, each in zip(processes, members, strict=False):
            self.clients.put(Way(process, beside=True), device, body_of(device, **each))

    @rule(address=ADDRESS, processes=permutations(range(3)), devices=permutations(DEVICES))
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

    def by(self, way, who, device):
        """`who` of `WHO` asks something about the device."""
        other, person = DEVICES[DEVICES.index(device) - 1], self.body(device).get("person", PERSONS[0])
        pairs = {"its credential": (device, None), "a wrong secret": (device, other), "another device": (other, None)}
        who, secret_of = (pairs | {"its person": (person, None)}).get(who, (who, None))
        return way._replace(who=who, secret_of=secret_of)

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
            world.stand_in.end()


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
