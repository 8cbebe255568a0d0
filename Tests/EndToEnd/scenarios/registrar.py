"""The registrar on a real broker: each command is decided once, in its order, and who is subscribed follows from it, whoever is
killed, and whatever becomes of the table."""

import base64
import concurrent.futures
import datetime
import hmac
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from generator.commands import Commands, command
from generator.inputs import Input, event_about, subscription, unsubscription
from harness.brokers import Brokers
from harness.cluster import Cluster
from harness.daemon import Daemon, wait_for_daemons
from harness.http_api import APIProcess, create_key, wait_until_ready
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import PATIENCE, Skipped, expect, now_ms
from harness.world import check
from model.pushes import read_requests
from model.registrar import Registry, sha256, verify_registry
from model.registrar_decisions import iso
from model.registrar_records import check_decisions
from model.report import Report
from model.withdrawals import SOON

TOPICS = (
    "events",
    "subscriptions",
    "dispatch",
    "dead-letters",
    "journal",
    "commands",
    "devices",
    "people",
    "erasures",
    "verdicts",
    "control",
    "deliveries",
)
# What a registrar writes.
DECIDED = ("verdicts", "devices", "people", "erasures", "subscriptions", "control")
SIZES = {"commands": 1_500, "kills": 4, "subscribers": 2_500}
# Of a GET that is to know what is there when it is asked.
AT_ONCE = {"Carillon-After": "0"}


class Registrar(Daemon):
    """One instance of `carillon run` with these roles."""

    roles = "registrar"

    def configure(self, settings):
        super().configure(settings)
        self.arguments += ["--roles", self.roles]


class RegistrarWorld:
    """Topics for one test, all named after it, and the registrars."""

    def __init__(self, harness, name, cluster=None):
        self.harness, self.cluster = harness, cluster or harness.cluster()
        self.name = harness.unique(name)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"carillon-{name}."))
        self.topics = {topic: f"{self.name}.{topic}" for topic in TOPICS}
        self.daemons = []
        harness.worlds.append(self)
        harness.command("topics", "create", "--partitions", "1", settings=self.settings("operator"))

    def settings(self, instance):
        return {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "group.id": self.name,
            "instance.id": instance,
            "state.dir": self.folder / instance,
            "session.timeout": "6s",
            "log.format": "text",
        } | {f"topic.{topic}": name for topic, name in self.topics.items()}

    def registrar(self, name, kind=Registrar):
        """A process that is not started yet."""
        self.daemons.append(kind(name, self.folder, self.settings(name), "earliest", self.harness.carillon))
        return self.daemons[-1]

    def send(self, *commands):
        self.cluster.produce(self.topics["commands"], commands, 0)

    def verdicts(self):
        return [json.loads(each.value) for each in self.read("verdicts")]

    def read(self, topic):
        return self.cluster.read(self.topics[topic])

    def decided(self):
        """How many commands are decided."""
        return self.cluster.committed(f"{self.name}-registrar", self.topics["commands"]).get(0, 0)

    def wait_until_decided(self, seconds=60):
        running = [each for each in self.daemons if each.is_running]
        end = self.cluster.ends(self.topics["commands"])[0]
        wait_for_daemons(f"{end} commands are decided", lambda: self.decided() == end, running, seconds)
        self.cluster.wait_until_readable([self.topics[each] for each in DECIDED])

    def registry(self, **known):
        return Registry(self.read("commands"), **{topic: self.read(topic) for topic in DECIDED}, **known)

    def verify(self, **known):
        report = verify_registry(self.registry(**known))
        report.print()
        check(report)

    def kill_daemons(self):
        for each in self.daemons:
            each.kill_if_running()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def register(device, address, *audiences, **members):
    return command(
        action="change_device",
        device=device,
        whole=True,
        address={"kind": "registration_token", "value": address},
        app="com.example.shop",
        audiences=list(audiences),
        **members,
    )


@scenario("every command has one verdict, in its order, and the subscriptions are what devices and people say, over kills")
def kills(harness):
    world = RegistrarWorld(harness, "registrar-kills")
    commands = Commands(harness.seed)
    registrars = [world.registrar(name).start() for name in ("a", "b")]
    size, parts = harness.sizes.commands, harness.sizes.kills + 1
    sent = 0
    for part in range(parts):
        until = size * (part + 1) // parts
        # A batch is decided in a transaction: many small ones make many of them.
        while sent < until:
            world.send(*(commands.next() for _ in range(min(20, until - sent))))
            sent += min(20, until - sent)
        if part < parts - 1:
            wait_for_daemons("some are decided", lambda until=until: world.decided() > until // 2, registrars)
            # The one that decides, or the one that waits.
            registrars[part % 2].kill()
            registrars[part % 2].start()
    world.wait_until_decided(90)
    for each in registrars:
        each.stop()
    world.verify()
    report = Report()
    check_decisions(world.registry(), report)
    check(report)
    kinds = {each["verdict"] for each in world.verdicts()}
    expect("the kinds of verdicts", kinds, {"created", "changed", "unchanged", "gone", "erased", "refused"})


@scenario(
    "a table that is deleted is filled again: what is so already stays unchanged, also where the group has no offset",
    background=True,
)
def forgotten(harness):
    world = RegistrarWorld(harness, "registrar-forgotten")
    phone = register("installation-0001", "token-1", "place/7", person="17")
    grant = command(action="change_person", person="17", audiences=["place/8"])
    world.send(phone, grant, register("installation-0002", "token-2", "channel/offers"))
    registrar = world.registrar("a").start()
    world.wait_until_decided()
    subscriptions = len(world.read("subscriptions"))
    expect("subscriptions", subscriptions, 6)
    registrar.stop()
    shutil.rmtree(world.folder / "a" / "registrar")
    world.send(phone, grant)
    registrar.start()
    world.wait_until_decided()
    registrar.stop()
    expect("verdicts", [each["verdict"] for each in world.verdicts()], ["created"] * 3 + ["unchanged"] * 2)
    # Another group has no offset, and begins after what the devices say was decided.
    other = world.registrar("b")
    other.configure(world.settings("b") | {"group.id": f"{world.name}-2"})
    world.name = f"{world.name}-2"
    world.send(phone)
    other.start()
    world.wait_until_decided()
    other.stop()
    # The last command that has changed something is the third.
    expect("the last verdicts", [each["command"] for each in world.verdicts()][5:], [3, 4, 5])
    expect("what they say", {each["verdict"] for each in world.verdicts()[5:]}, {"unchanged"})
    expect("subscriptions in the end", len(world.read("subscriptions")), subscriptions)


@scenario("what is no command has a verdict, too, and the next one is decided; what is not allowed is named", background=True)
def malformed(harness):
    world = RegistrarWorld(harness, "registrar-malformed")
    phone = register("installation-0001", "token-1", "place/7")
    broken = [
        phone._replace(value=b"{"),
        phone._replace(value=None),
        phone._replace(value=phone.value.replace(b'"version":1', b'"version":2')),
        register("too-short", "token-1", "place/7"),
    ]
    refused = [
        register("installation-0002", "token 2", "place/7"),
        register("installation-0002", "token-2", "user/18"),
        register("installation-0002", "token-2", *(f"place/{number}" for number in range(201))),
    ]
    world.send(*broken, *refused, phone)
    registrar = world.registrar("a").start()
    world.wait_until_decided()
    registrar.expect_line("is no command of this version", f"{world.topics['commands']}/0/2")
    registrar.stop()
    verdicts = world.verdicts()
    expect("verdicts", [each["verdict"] for each in verdicts], ["malformed"] * 4 + ["refused"] * 3 + ["created"])
    expect("reasons", [each["reason"] for each in verdicts[4:7]], ["invalid", "invalid", "too_many_audiences"])
    expect(
        "problems",
        [each["problems"] for each in verdicts[4:6]],
        [
            ["token contains whitespace, a control character, or bytes that are not UTF-8"],
            ["audiences has another than place/<id> and channel/<id>"],
        ],
    )
    if any("token" in line and "token-" in line for line in registrar.log(whole=True).splitlines()):
        expect("a token in the log", True, False)


@scenario("a command of which the broker takes not all that follows is refused, and those beside it are decided", background=True)
def too_large(harness):
    world = RegistrarWorld(harness, "registrar-too-large")
    world.cluster.configure(world.topics["devices"], {"max.message.bytes": "20000"})
    # What compresses well would be small enough.
    chance = random.Random(f"too large {harness.seed}")
    large = register("installation-0002", "token-2", *(f"place/{chance.randbytes(250).hex()}" for _ in range(150)))
    small = [register(f"installation-100{number}", f"token-10{number}", "place/7") for number in range(3)]
    world.send(small[0], large, *small[1:])
    registrar = world.registrar("a").start()
    world.wait_until_decided()
    world.send(small[0])
    world.wait_until_decided()
    registrar.stop()
    verdicts = world.verdicts()
    expect("verdicts", [each["verdict"] for each in verdicts], ["created", "refused", "created", "created", "unchanged"])
    expect("the problem", verdicts[1]["problems"][0].startswith("what follows from it is too much"), True)
    world.verify()


@scenario(
    "what the broker refuses to have written again is given up, with a line, and the next commands are decided", background=True
)
def not_restored(harness):
    world = RegistrarWorld(harness, "registrar-not-restored")
    registrar = world.registrar("a").start()
    topic, numbers = world.topics["subscriptions"], iter(range(1, 1_000))
    chance = random.Random(f"not restored {harness.seed}")

    phone = register("installation-0001", "token-of-a-phone", "place/7")

    def bury(token, at):
        """A provider's word that it is dead, after others that are decided in the same transaction."""
        evidence = {"by": "sender", "platform": "fcm", "reason": "UNREGISTERED", "address_sha256": sha256(token), "at": at}
        world.send(*[phone] * 200, command(action="bury_address", **evidence))

    def is_dead():
        world.wait_until_decided()
        return world.verdicts()[-1]["verdict"] == "changed"

    def is_marked(marker):
        bury(marker, now_ms())
        return is_dead()

    def is_given_up():
        """Somebody subscribes a dead device once more, and it may be that the registrar hears of its death first."""
        token, marker = (f"{kind}-{next(numbers)}" for kind in ("token", "marker"))
        world.cluster.configure(topic, {"max.message.bytes": "100000"})
        world.cluster.produce(topic, [subscription("7", token), subscription("7", marker)])
        # In the order of the partition it knows both then.
        wait_for_daemons("it knows them", lambda: is_marked(marker), [registrar])
        registrar.signal(signal.SIGSTOP)
        bury(token, now_ms())
        world.cluster.produce(topic, [subscription("7", token, note=chance.randbytes(2_000).hex())])
        world.cluster.configure(topic, {"max.message.bytes": "1000"})
        registrar.signal(signal.SIGCONT)
        if not is_dead():
            return False
        # The broker may still have taken it.
        wait_for_daemons("it ends", lambda: registrar.has_line("written again"), [registrar])
        return registrar.has_line("cannot be written again")

    wait_for_daemons("it gives something up", is_given_up, [registrar], 60)
    world.send(register("installation-0002", "token-of-another", "place/7"))
    world.wait_until_decided()
    registrar.stop()
    expect("the next command", world.verdicts()[-1]["verdict"], "created")


@scenario("subscriptions that others have written are adopted: the whole device replaces them, and others' stay", background=True)
def adopted(harness):
    world = RegistrarWorld(harness, "registrar-adopted")
    stranger = subscription("9", "token-of-a-stranger")
    before = [subscription("7", "token-1"), subscription("8", "token-1"), stranger]
    world.cluster.produce(world.topics["subscriptions"], before)
    registrar = world.registrar("a").start()
    world.send(register("installation-0001", "token-1", "place/7"))
    world.wait_until_decided()
    world.verify(others={stranger.key.decode()})
    # Written while it works: seen by the next command, or the one after it.
    late = subscription("10", "token-1")
    world.cluster.produce(world.topics["subscriptions"], [late])

    def is_gone():
        world.send(register("installation-0001", "token-1", "place/7"))
        world.wait_until_decided()
        newest = {each.key: each.value for each in world.read("subscriptions")}
        return newest[late.key] is None

    wait_for_daemons("the whole device has replaced it", is_gone, [registrar])
    registrar.stop()
    world.verify(others={stranger.key.decode()})


def pushes_of(world, daemon, order):
    """An order of place 7 is there: its dispatch records, by device."""
    end = world.cluster.ends(world.topics["events"])[0]
    world.cluster.produce(world.topics["events"], [event_about({"id": order, "place_id": "7", "status": "pending"}, order)])
    wait_for_daemons(
        f"the event of {order} is processed",
        lambda: world.cluster.committed(world.name, world.topics["events"]).get(0, 0) > end,
        [daemon],
    )
    world.cluster.wait_until_readable([world.topics["dispatch"]])
    return {each.key.decode(): each for each in world.read("dispatch") if f'"{order}\\"'.encode() in each.value}


@scenario("a device that a command has registered gets the pushes of its place, and none after its logout", background=True)
def chain(harness):
    class Both(Registrar):
        roles = "pipeline,registrar"

    world = RegistrarWorld(harness, "registrar-chain")
    daemon = world.registrar("a", Both).start()
    world.send(register("installation-0001", "token-1", "place/7", person="17"))
    world.wait_until_decided()

    def pushed(order):
        return pushes_of(world, daemon, order).keys()

    # Of an order's push to a device that has only just registered nobody says when: it is asked until it comes.
    numbers = iter(range(1, 1_000))
    wait_for_daemons("the device gets a push", lambda: pushed(f"A{next(numbers)}") == {sha256("token-1")}, [daemon])
    world.send(command(action="change_device", device="installation-0001", whole=False, person=None))
    world.wait_until_decided()
    wait_for_daemons("it gets none after its logout", lambda: not pushed(f"B{next(numbers)}"), [daemon])
    expect("after the logout", set(pushed("C")), set())
    daemon.stop()


@scenario(
    "what waits for a phone is not sent after a logout, another login, a take-over or an erasure; what its next login gets is",
    background=True,
)
def withdrawn(harness):
    expect_withdrawn(harness, "registrar-withdrawn")


@scenario("nor is what waits in a retry topic, since the provider has refused it for a while", background=True)
def withdrawn_retries(harness):
    expect_withdrawn(harness, "registrar-withdrawn-retries", "quota=1")


def expect_withdrawn(harness, name, faults=""):
    """With faults of the provider pushes wait in a retry topic, else in a paused lane."""

    class Everything(Registrar):
        roles = "pipeline,registrar,deliver"

    world = RegistrarWorld(harness, name)
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed, faults)
    settings = world.settings("a") | stand_in.settings()
    daemon = world.registrar("a", Everything)
    daemon.configure(settings)
    phones = {number: (f"installation-000{number}", f"token-{number}", sha256(f"token-{number}")) for number in range(1, 8)}

    def login(number, person, *audiences):
        return register(*phones[number][:2], *audiences, person=person)

    def outcomes(order):
        """By phone, what became of the order's push, and why."""
        messages = {dict(each.headers)["message-id"].decode() for each in orders[order].values()}
        values = [json.loads(each.value) for each in world.read("deliveries")]
        ended = {each["device"]: (each["outcome"], each.get("reason")) for each in values if each["message_id"] in messages}
        return {number: ended[phone[2]] for number, phone in phones.items() if phone[2] in ended}

    try:
        # With credentials delivery's are among them.
        harness.command("topics", "create", "--partitions", "1", settings=settings)
        if not faults:
            harness.command("deliver", "pause", "fcm", "--why", "a test", settings=settings)
        daemon.start()
        world.send(*(login(number, f"1{number}", "place/7", "channel/offers") for number in phones))
        world.wait_until_decided()
        orders, numbers = {}, iter(range(1, 1_000))

        def announce(name):
            orders[name] = pushes_of(world, daemon, name)
            return len(orders[name])

        # It takes a moment until the pipeline knows the devices.
        wait_for_daemons("all have a push", lambda: announce(f"A{next(numbers)}") == len(phones), [daemon])
        waiting = list(orders)[-1]
        if faults:
            # Of each phone the first; the others wait behind it.
            retried = lambda: {each.key.decode() for each in world.cluster.read(f"{world.topics['dispatch']}.retry.10s")}  # noqa: E731
            wait_for_daemons("they wait in a retry topic", lambda: retried() == {each[2] for each in phones.values()}, [daemon])
        world.send(
            command(action="change_device", device=phones[1][0], whole=False, person=None),
            login(2, "22", "channel/offers"),
            # Installed again: another device has the address.
            register("installation-0009", "token-3", "channel/offers", person="33"),
            command(action="erase_person", person="14"),
            command(action="delete_device", device=phones[5][0]),
            # It has another address when it is logged out.
            command(
                action="change_device",
                device=phones[7][0],
                whole=False,
                address={"kind": "registration_token", "value": "token-77"},
            ),
            command(action="change_device", device=phones[7][0], whole=False, person=None),
        )
        world.wait_until_decided()
        decided = now_ms()
        if faults:
            stand_in.set_faults("")
        else:
            harness.command("deliver", "resume", "fcm", settings=settings)
        wait_for_daemons("all have ended", lambda: len(outcomes(waiting)) == len(phones), [daemon])
        cancelled = ("cancelled", "withdrawn")
        expect("what became of it", outcomes(waiting), dict.fromkeys(phones, cancelled) | {6: ("accepted", None)})
        # An old copy of the subscriptions does not bring an erased person back.
        old = [
            subscription("14", "token-4", audience="user/14", registered_at="2026-01-01T00:00:00Z"),
            subscription("7", "token-6"),
        ]
        lines = world.folder / "old.jsonl"
        lines.write_bytes(b"".join(each.value + b"\n" for each in old))
        summary = json.loads(harness.run("subscriptions", "import", str(lines), "--json", settings=settings)[1])
        expect("what is imported", (summary["imported"], summary["erased"]), (1, 1))
        # The same person, at the same phone.
        world.send(login(1, "11", "place/7"))
        world.wait_until_decided()
        wait_for_daemons("the next login has a push", lambda: announce(f"B{next(numbers)}") == 2, [daemon])
        last = list(orders)[-1]
        wait_for_daemons("it has ended", lambda: len(outcomes(last)) == 2, [daemon])
        expect("what became of that", outcomes(last), {1: ("accepted", None), 6: ("accepted", None)})
        daemon.stop()
        stand_in.end()
        since = decided + SOON if faults else 0
        asked = {(each.message, each.device) for each in read_requests(stand_in.log) if each.time > since}
        forbidden = {
            (dict(orders[name][phone[2]].headers)["message-id"].decode(), phone[2])
            for name in orders
            if name.startswith("A")
            for number, phone in phones.items()
            if number != 6 and phone[2] in orders[name]
        }
        expect("requests at the provider that a logout forbids", asked & forbidden, set())
        expect("the header of a push", dict(orders[last][phones[1][2]].headers)["command"], str(len(phones) + 7).encode())
    finally:
        stand_in.end()
    world.verify()


@scenario("on the command line devices and people are shown, changed and erased as the registrar decides", background=True)
def cli(harness):
    world = RegistrarWorld(harness, "registrar-cli")
    registrar = world.registrar("a").start()
    phones = ["installation-0001", "installation-0002"]
    world.send(*(register(phone, f"token-{phone}", "place/7", person="17") for phone in phones))
    world.wait_until_decided()

    def carillon(*words, expected=0, **more):
        code, output, errors = harness.run(*words, settings=world.settings("operator"), **more)
        expect(f"the exit code of {' '.join(words)}: {errors}", code, expected)
        if any(f"token-{phone}" in output + errors for phone in phones):
            expect("a token on the command line", True, False)
        return output, errors

    device = json.loads(carillon("devices", "show", phones[0], "--json")[0])
    expect("a device", (device["address"]["sha256"], device["person"]), (sha256(f"token-{phones[0]}"), "17"))
    carillon("people", "audiences", "17", "channel/offers")
    person = json.loads(carillon("people", "show", "17", "--json")[0])
    expect("a person", (person["audiences"], [each["device"] for each in person["devices"]]), (["channel/offers"], phones))
    for words in (("subscribe", "--platform", "fcm", "--app", "com.example.shop"), ("unsubscribe",)):
        warned = carillon(*words, "--audience", "place/9", input=f"token-{phones[0]}".encode())[1]
        expect("who has the address", f"the device {phones[0]} has this address" in warned, True)
    carillon("devices", "forget", phones[0])
    carillon("devices", "forget", phones[0], expected=1)
    erased = json.loads(carillon("people", "erase", "17", "--yes", "--json")[0])
    expect("an erasure", (erased["devices"], erased["erased_at"][:2]), (1, "20"))
    carillon("people", "show", "17", expected=1)
    world.send(register(phones[1], "token-3"))
    world.wait_until_decided()
    registrar.stop()
    # Nobody decides; the next registrar does.
    recorded, why = carillon("devices", "forget", phones[1], "--timeout", "1s", "--json", expected=75)
    expect("what is recorded", ("no registrar is running?" in why, json.loads(recorded)["status"]), (True, "recorded"))
    registrar.start()
    world.wait_until_decided()
    carillon("devices", "show", phones[1], expected=1)
    registrar.stop()
    expect("the last verdict", world.verdicts()[-1]["verdict"], "gone")
    world.verify()


class Desk(APIProcess):
    """One instance of `carillon api` for devices, on the topics of a registrar's world."""

    def __init__(self, world, name, **settings):
        # On a busy machine a registrar takes its time, and 202 would be right.
        own = world.settings(name) | {"topic.requests": f"{world.name}.requests", "api.wait": "20s"} | settings
        super().__init__(world.harness, world.cluster, world.folder, name, **own)
        world.daemons.append(self)

    def put(self, key, device, body, headers=None):
        return self.ask(key, "PUT", f"/v1/devices/{device}", body, headers)


@scenario("over HTTP a device is registered, read, rotated and deleted, and the answer is the registrar's", background=True)
def http(harness):
    world = RegistrarWorld(harness, "registrar-http")
    world.cluster.create_topics({f"{world.name}.requests": (1, {})})
    key = create_key(harness, world.folder, "devices:write", "devices:read", "people:write", "people:read", "people:erase")
    reader = create_key(harness, world.folder, "devices:read")
    registrar, desks = world.registrar("a").start(), [Desk(world, name).start() for name in ("x", "y")]
    wait_until_ready(*desks)
    phone, other = "installation-0001", "installation-0002"
    body = {"address": {"kind": "registration_token", "value": "token-1"}, "app": "com.example.shop", "audiences": ["place/42"]}

    def shown(desk, device):
        """What a GET says, with the states of the address."""
        status, answer = desk.ask(key, "GET", f"/v1/devices/{device}")
        return status, answer.get("address", {}).get("state"), answer.get("revision")

    for number, desk in enumerate(desks):
        # Of its own process a GET shows what a PUT has answered.
        status, answer = desk.put(key, phone, body | {"locale": ["de", "en"][number]})
        expect(
            "the answer", (status, answer["address"]["state"], answer["locale"]), ([201, 200][number], "live", ["de", "en"][number])
        )
        expect("what a GET shows", shown(desk, phone), (200, "live", answer["revision"]))
        expect("a token in an answer", "token-1" in json.dumps(answer), False)
    for number in range(100):
        # The verdict often arrives before the device.
        answer = desks[0].put(key, phone, body | {"locale": f"l{number}"})[1]
        expect("what a PUT answers", answer.get("locale"), f"l{number}")
        expect("what a GET shows then", shown(desks[0], phone)[2], answer["revision"])
    desks[0].put(key, phone, body | {"locale": "en"})
    revision = shown(desks[0], phone)[2]
    expect("the same again, at another process", desks[1].put(key, phone, body | {"locale": "en"})[1]["revision"], revision)
    expect("an old version", desks[0].put(key, phone, body, {"If-Match": '"0"'})[1]["code"], "revision")
    expect("one that is there", desks[0].put(key, phone, body, {"If-None-Match": "*"})[0], 412)
    expect("a generation", desks[0].put(key, phone, body | {"generation": 7}, {"If-Match": f'"{revision}"'})[0], 200)
    expect("an older one", desks[1].put(key, phone, body | {"generation": 6})[1]["code"], "stale-generation")
    expect("not allowed", desks[0].put(key, phone, body | {"audiences": ["user/18"]})[0], 422)
    expect("a change of one member", desks[1].ask(key, "PATCH", f"/v1/devices/{phone}", {"locale": None})[1].get("locale"), None)
    # A position that no process has shown is known once all that was there when it was asked for is.
    for position, wanted in (("0", 200), ("999999", 200), ("next", 400)):
        headers = {"Carillon-After": position}
        expect(f"after {position}", desks[1].ask(key, "GET", f"/v1/devices/{phone}", headers=headers)[0], wanted)
    place = f"/v1/devices/{phone}/audiences/place%2F43"
    expect("one audience more", desks[0].ask(key, "PUT", place)[1]["audiences"], ["place/42", "place/43"])
    expect("and less", [desks[0].ask(key, "DELETE", place)[0] for _ in range(2)], [204, 204])
    # The other installation has shown that the address is its own.
    expect("a claim", desks[0].put(key, other, body)[0], 201)
    expect("who has lost the address", shown(desks[0], phone)[:2], (200, "claimed"))
    whole = {"device": phone, **body}
    lines = "\n".join(
        json.dumps(each) for each in (whole, whole | {"locale": 7}, whole | {"device": "installation-0003", "address": None})
    )
    ndjson = {"Content-Type": "application/x-ndjson"}
    expect("a line that is none", desks[0].ask(key, "POST", "/v1/devices:import", lines.encode(), ndjson)[0], 422)
    status, answer = desks[0].ask(key, "POST", "/v1/devices:import?partial=1", lines.encode(), ndjson)
    expect("an import", (status, answer["recorded"], [each["line"] for each in answer["refused"]]), (202, 2, [2]))
    # The import has moved the address back; what it was answered with says nothing of a decision.
    wait_for_daemons("the import is decided", lambda: shown(desks[0], phone)[1] == "live", [registrar, *desks])
    found = desks[0].ask(key, "POST", "/v1/devices:lookup", {"address_sha256": sha256("token-1")})
    expect("who has the address", (found[0], found[1]["device"]), (200, phone))
    expect("what the backend grants", desks[0].ask(key, "PUT", "/v1/people/17/audiences", ["place/7"])[1]["audiences"], ["place/7"])
    desks[1].put(key, other, body | {"person": "17"})
    status, answer = desks[1].ask(key, "GET", "/v1/people/17/devices")
    expect("where 17 is logged in", [each["person_audiences"] for each in answer["items"]], [["place/7"]])
    expect("logged out everywhere", [desks[1].ask(key, "DELETE", "/v1/people/17/devices")[0] for _ in range(2)], [204, 204])
    expect("where 17 is logged in then", desks[1].ask(key, "GET", "/v1/people/17")[1]["devices"], 0)
    desks[1].put(key, other, body | {"person": "18"})
    status, answer = desks[1].ask(key, "DELETE", "/v1/people/18")
    expect("an erasure", (status, answer["devices"]), (200, 1))
    expect("when the commands are gone", answer["gone_from"][world.topics["commands"]] > answer["erased_at"], True)
    expect("who is erased", desks[1].ask(key, "GET", f"/v1/devices/{other}")[0], 404)
    desks[1].put(key, other, body)
    expect("deleted", desks[0].ask(key, "DELETE", f"/v1/devices/{other}")[0], 204)
    expect("deleted again", desks[1].ask(key, "DELETE", f"/v1/devices/{other}")[0], 204)
    # Without a registrar it is recorded, and decided by the next one.
    registrar.kill()
    desks[0].kill()
    patient = Desk(world, "z", **{"api.wait": "2s"}).start()
    wait_until_ready(patient)
    answer = patient.put(key, other, body)[1]
    expect("recorded", answer["status"], "recorded")
    command = f"/v1/commands/{answer['command']}"
    expect("what is known of the command", patient.ask(key, "GET", command)[1]["status"], "recorded")
    registrar.start()
    world.wait_until_decided()
    wait_for_daemons("it is there", lambda: shown(patient, other)[:2] == (200, "live"), [registrar, patient])
    expect("what was decided", patient.ask(key, "GET", command)[1]["verdict"], "created")
    expect("of another caller's", patient.ask(reader, "GET", command)[0], 403)
    expect("a key that may not", patient.put(reader, phone, body)[0], 403)
    registrar.stop()
    world.verify()
    # As after the day for which verdicts are kept.
    topic = world.topics["verdicts"]
    world.cluster.delete_records(topic, 0, world.cluster.ends(topic)[0])
    expect("a verdict that is not kept any more", patient.ask(key, "GET", command)[0], 404)
    waiting = f"/v1/commands/{patient.put(key, other, body | {'locale': 'fr'})[1]['command']}"
    expect("one that nobody has decided", patient.ask(key, "GET", waiting)[1]["status"], "recorded")


@scenario(
    "who is subscribed to an audience the API says page by page: each device that stays once, while others come and go, and in "
    "the end what the fold of the subscriptions says",
    background=True,
)
def audiences(harness):
    world = RegistrarWorld(harness, "registrar-audiences")
    world.cluster.create_topics({f"{world.name}.requests": (1, {})})
    key = create_key(harness, world.folder, "devices:write", "devices:read")
    registrar, desk = world.registrar("a").start(), Desk(world, "x").start()
    wait_until_ready(desk)
    chance = random.Random(f"audiences {harness.seed}")

    def pages(limit, between=lambda: None, headers=None):
        """The items of all pages."""
        items, cursor = [], ""
        while True:
            status, page = desk.ask(key, "GET", f"/v1/audiences/place%2F42/devices?limit={limit}{cursor}", headers=headers)
            expect("a page", (status, len(page["items"]) <= limit), (200, True))
            items += page["items"]
            if "next" not in page:
                return items
            cursor = f"&cursor={page['next']}"
            between()

    def come_and_go():
        """Somebody joins or leaves: a device of the registrar's, or an address that somebody else subscribes."""
        number = chance.randrange(50)
        body = {"app": "com.example.shop", "address": {"kind": "registration_token", "value": f"comes-{number}"}}
        audiences = ["place/42"] if chance.random() < 0.5 else ["place/43"]
        desk.put(key, f"installation-comes-{number:02}", body | {"audiences": audiences})
        made = unsubscription if chance.random() < 0.5 else subscription
        world.cluster.produce(world.topics["subscriptions"], [made("42", f"other-comes-{number}")])

    size = harness.sizes.subscribers
    lines = [
        {"device": f"installation-{number:06}", "app": "com.example.shop", "audiences": ["place/42"], "locale": "de-AT"}
        | {"address": {"kind": "registration_token", "value": f"token-{number}"}}
        for number in range(size * 4 // 5)
    ]
    body = "\n".join(json.dumps(each) for each in lines).encode()
    expect("an import", desk.ask(key, "POST", "/v1/devices:import", body, {"Content-Type": "application/x-ndjson"})[0], 202)
    foreign = [f"other-{number}" for number in range(size - len(lines))]
    world.cluster.produce(world.topics["subscriptions"], [subscription("42", each) for each in foreign])
    world.wait_until_decided()
    staying = {sha256(each["address"]["value"]): each["device"] for each in lines} | {sha256(each): None for each in foreign}
    wait_for_daemons("all are known", lambda: desk.ask(key, "GET", "/v1/audiences/place%2F42")[1]["devices"] == size, [desk])
    for limit in (250, 1000, 77):
        items = pages(limit, come_and_go)
        hashes = [each["address_sha256"] for each in items]
        expect("each once, in their order", hashes, sorted(set(hashes)))
        known = {each["address_sha256"]: each.get("device") for each in items if each["address_sha256"] in staying}
        expect(f"those that stay, in pages of {limit}", known, staying)
    newest = {record.key.decode(): record.value for record in world.read("subscriptions")}
    fold = {each for each, value in newest.items() if value}
    found = {f"place/42|{each['address_sha256']}" for each in pages(1000, headers=AT_ONCE)}
    expect("who is subscribed", found, {each for each in fold if each.startswith("place/42|")})
    counts = desk.ask(key, "GET", "/v1/audiences/place%2F42", headers=AT_ONCE)[1]
    expect("how many", (counts["devices"], counts["platforms"]), (len(found), {"fcm": len(found), "apns": 0}))
    expect("by language", counts["languages"], [{"language": "de", "devices": len(lines)}])
    address = sha256("token-7")
    for audience in (f"device%2F{address}", "user%2Fnobody"):
        status, page = desk.ask(key, "GET", f"/v1/audiences/{audience}/devices")
        expect(
            f"of {audience}",
            (status, [each["address_sha256"] for each in page["items"]]),
            (200, [address] * ("device" in audience)),
        )
    # The table is there at the next start.
    desk.stop(30)
    desk.start()
    wait_until_ready(desk)
    expect("who is subscribed after a start", {f"place/42|{each['address_sha256']}" for each in pages(1000)}, found)
    for each in (registrar, desk):
        each.stop(30)
    others = foreign + [f"other-comes-{number}" for number in range(50)]
    world.verify(others={f"place/42|{sha256(each)}" for each in others} & fold)


@scenario("by the time that an erasure names no topic has a byte of the person or the address left", background=True)
def last_byte(harness):
    if not (kafka_home := os.environ.get("KAFKA_HOME")):
        raise Skipped("KAFKA_HOME is not set")
    # It deletes and compacts at once; what the answer adds for a broker that does not is taken off below.
    eager = ["--set", "log.retention.check.interval.ms=1000", "--set", "log.cleaner.backoff.ms=1000"]
    with Brokers(kafka_home, *eager) as brokers:
        world = RegistrarWorld(harness, "registrar-last-byte", Cluster(brokers.start()))
        try:
            expect_forgotten(world)
        finally:
            world.kill_daemons()


def at_once(ask, items):
    """What a broker answers to each, in their order."""
    with concurrent.futures.ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(ask, items))


def expect_forgotten(world):
    class Everything(Registrar):
        roles = "pipeline,broadcasts,registrar,deliver"

    person, token, phone = "person-of-the-erasure", "token-of-the-erasure", "installation-0001"
    optional = {f"topic.{topic}": f"{world.name}.{topic}" for topic in ("requests", "broadcasts", "receipts")}
    requests = optional["topic.requests"]
    # Whatever is sent waits for another attempt.
    stand_in = StandIn(world.harness.stand_in, world.folder / "providers", world.harness.seed, "quota=1")
    settings = world.settings("a") | optional | stand_in.settings() | {"schedule": "off"}
    world.harness.command("topics", "create", "--partitions", "1", settings=settings)
    topics = [each for each in world.cluster.admin.list_topics(timeout=30).topics if each.startswith(world.name)]
    # What waits in a retry topic must still be there when it is due.
    kept = {"segment.ms": "1000", "retention.ms": "20000"}
    compacted = {"min.compaction.lag.ms": "0", "max.compaction.lag.ms": "3000", "delete.retention.ms": "20000"}
    compacted |= {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"}

    def hurry(topic):
        """It forgets within seconds, which is less than the roles ask for when they start."""
        world.cluster.configure(topic, compacted if world.cluster.setting(topic, "cleanup.policy") == "compact" else kept)

    key = create_key(world.harness, world.folder, "devices:write", "people:write", "people:erase", "send", "broadcast")
    daemon, desk = world.registrar("a", Everything), Desk(world, "x", **optional)
    daemon.configure(settings)
    world.harness.command("deliver", "pause", "fcm", "--why", "a test", settings=settings)
    daemon.start()
    desk.start()
    wait_until_ready(desk)
    body = {"address": {"kind": "registration_token", "value": token}, "app": "com.example.shop", "audiences": ["place/42"]}
    expect("a grant", desk.ask(key, "PUT", f"/v1/people/{person}/audiences", ["channel/offers"])[0], 200)
    response, _ = desk.exchange(key, "PUT", f"/v1/devices/{phone}", body | {"person": person})
    expect("a login", response.status, 201)
    after = {"Carillon-After": response.headers["Carillon-Position"]}

    def known():
        """The topics that have something of them, among keys, values and headers."""
        words = (person.encode(), token.encode())
        logs = zip(topics, at_once(lambda topic: world.cluster.read(topic, forgets=True), topics), strict=True)
        return {topic for topic, log in logs for each in log if any(word in repr(each).encode() for word in words)}

    def pushes():
        """The messages that were written for the phone."""
        written = [each for topic in dispatched for each in world.cluster.read(topic) if each.key.decode() == sha256(token)]
        return {dict(each.headers)["message-id"].decode() for each in written}

    def withdrawn():
        values = [json.loads(each.value) for each in world.cluster.read(world.topics["deliveries"], forgets=True)]
        return {each["message_id"] for each in values if (each["outcome"], each.get("reason")) == ("cancelled", "withdrawn")}

    dispatched = [world.topics["dispatch"], f"{world.topics['dispatch']}.broadcasts"]
    request = {"audience": f"user/{person}", "message": {"title": "T"}}
    expect("a request", desk.ask(key, "PUT", "/v1/requests/r-1", request, after)[0], 202)
    bad = json.dumps({"request_id": "r-2", "audience": f"user/{person}", "app": {"title": 7}}).encode()
    world.cluster.produce(requests, [Input(f"user/{person}".encode(), bad)])
    order = {"id": "o-1", "place_id": "7", "customer": person}
    world.cluster.produce(world.topics["events"], [event_about(order, "e-1")])
    news = {"actiontype": "display", "notificationtype": "general", "expiry": "14400000millis"}
    fields = [{"language": "en", "title": "Closed on Monday", "msg": "We are back on Tuesday."}]
    channel = {"audience": "channel/offers"}
    answer = desk.ask(key, "PUT", "/v1/broadcasts/1", news | {"fields": fields} | channel)
    expect(f"a broadcast: {answer}", answer[0], 202)
    had = {world.topics[each] for each in ("commands", "devices", "people", "subscriptions", "events", "dead-letters")}
    had |= {requests, *dispatched}
    wait_for_daemons("all of them have something", lambda: known() == had, [daemon, desk])
    world.harness.command("deliver", "resume", "fcm", settings=settings)
    had |= {f"{each}.retry.10s" for each in dispatched}
    wait_for_daemons("the retry topics, too", lambda: known() == had, [daemon, desk])
    waiting = pushes()
    expect("pushes", len(waiting), 2)
    at_once(hurry, topics)
    status, answer = desk.ask(key, "DELETE", f"/v1/people/{person}")
    began = time.time()
    expect("an erasure", (status, answer["devices"]), (200, 1))
    named = {topic: at for topic, at in answer["gone_from"].items() if at and topic in topics}
    expect("topics that it does not name", known() - named.keys(), set())
    stand_in.set_faults("")
    wait_for_daemons("what waits is withdrawn", lambda: withdrawn() >= waiting, [daemon, desk])
    times = [datetime.datetime.fromisoformat(each).timestamp() for each in named.values()]
    last = max(times) - 3_600
    numbers = itertools.count()
    decided_here = [world.topics[each] for each in ("commands", "devices", "people")]

    def is_forgotten():
        # A partition to which nothing is written keeps its last segment.
        for number in range(3):
            desk.put(key, f"installation-100{number}", body | {"address": None, "person": "18", "locale": f"l{next(numbers)}"})
            desk.ask(key, "PATCH", f"/v1/people/{18 + number}", {"locale": f"l{next(numbers)}"})
        for topic in set(topics).difference(decided_here):
            world.cluster.produce(topic, [Input(f"filler-{next(numbers)}".encode(), b"{}")])
        return not known()

    wait_for_daemons("nothing is left of them", is_forgotten, [daemon, desk], max(1, last - time.time()) + 60)
    print(f"   {time.time() - began:.0f} s after the erasure; {last - began:.0f} s are its promise", flush=True)
    daemon.stop()
    stand_in.end()
    late = [each for each in read_requests(stand_in.log) if each.device == sha256(token) and each.time > began * 1000 + SOON]
    expect("requests at the provider after it", late, [])


@scenario(
    "a request that waits for a registration reaches the device, however far the pipeline's table is behind; orders do not wait",
    background=True,
)
def after(harness):
    class Both(Registrar):
        roles = "pipeline,registrar"

    world = RegistrarWorld(harness, "registrar-after")
    requests = f"{world.name}.requests"
    world.cluster.create_topics({requests: (1, {})})
    key = create_key(harness, world.folder, "devices:write", "send")
    daemon = world.registrar("a", Both)
    # Longer than any of this takes.
    daemon.configure(world.settings("a") | {"topic.requests": requests, "subscriptions.max-lag": "10m"})
    daemon.start()
    desks = [Desk(world, name).start() for name in ("x", "y")]
    wait_until_ready(*desks)
    running = [daemon, *desks]

    def register_over_http(person):
        """The position of a registration."""
        body = {"address": {"kind": "registration_token", "value": f"token-{person}"}, "app": "com.example.shop", "person": person}
        response, _ = desks[0].exchange(key, "PUT", f"/v1/devices/installation-{person}", body)
        expect(f"the registration of {person}", response.status, 201)
        return response.headers["Carillon-Position"]

    def send(name, person, headers=None):
        """The offset of a request, by another process."""
        body = {"audience": f"user/{person}", "message": {"title": "T"}}
        status, answer = desks[1].ask(key, "PUT", f"/v1/requests/{name}", body, headers)
        expect(f"the request {name}", status, 202)
        return int(answer["record"].rpartition("/")[2])

    def passed():
        """The offset of the next request."""
        return world.cluster.committed(world.name, requests).get(0, 0)

    def pushed():
        """The ids of the requests that were pushed, each as often as it was."""
        ids = [dict(each.headers).get("request-id") for each in world.read("dispatch")]
        return sorted(each.decode() for each in ids if each)

    upstream = world.cluster.producer(**{"transactional.id": world.name, "transaction.timeout.ms": 900_000})
    upstream.init_transactions(30)
    behind, at_once = [f"1{number:03}" for number in range(5)], [f"2{number:03}" for number in range(50)]
    for person in behind:
        # Nothing behind its first record can be read before it ends.
        upstream.begin_transaction()
        upstream.produce(world.topics["subscriptions"], key=b"place/p1|" + b"0" * 64, value=None, partition=0)
        upstream.flush(30)
        position = register_over_http(person)
        without = send(f"without-{person}", person)
        wait_for_daemons("the request that does not wait is passed", lambda offset=without: passed() > offset, running)
        waiting = send(f"with-{person}", person, {"Carillon-After": position})
        pushes_of(world, daemon, f"O{person}")
        expect("the next request, while it waits", passed() <= waiting, True)
        upstream.commit_transaction(30)
        wait_for_daemons("it is passed", lambda offset=waiting: passed() > offset, running)
    for person in at_once:
        last = send(f"with-{person}", person, {"Carillon-After": register_over_http(person)})
    wait_for_daemons("all are passed", lambda: passed() > last, running)
    world.cluster.wait_until_readable([world.topics["dispatch"]])
    expect("what was pushed", pushed(), [f"with-{person}" for person in behind + at_once])
    daemon.stop()
    world.verify()


SECRET = b"a secret of at least thirty-two bytes"


def user_token(person, **claims):
    """What a shop's backend signs for an app's user: RFC 7515's compact form, by HMAC."""

    def part(value):
        return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=")

    now = now_ms() // 1000
    claims = {"iss": "shop", "aud": "carillon", "sub": person, "iat": now, "exp": now + 600, "audiences": ["place/42"]} | claims
    signed = part({"alg": "HS256", "kid": "1", "typ": "JWT"}) + b"." + part(claims)
    return (signed + b"." + part(hmac.digest(SECRET, signed, "sha256"))).decode()


def desk_for_users(world):
    """An API that believes `user_token`, once it is ready."""
    world.cluster.create_topics({f"{world.name}.requests": (1, {})})
    (world.folder / "secret").write_bytes(SECRET)
    issuer = {"iss": "shop", "kid": "1", "alg": "HS256", "secret_file": "secret", "audiences": ["place/*", "channel/*"]}
    (world.folder / "issuers.json").write_text(json.dumps([issuer]))
    desk = Desk(world, "x", **{"api.issuers": f"@{world.folder}/issuers.json"}).start()
    wait_until_ready(desk)
    return desk


@scenario(
    "an app's users register their own phones by tokens of the shop, log in and out, and touch nobody else's", background=True
)
def users(harness):
    world = RegistrarWorld(harness, "registrar-users")
    create_key(harness, world.folder, "devices:read")
    registrar, desk = world.registrar("a").start(), desk_for_users(world)
    phone, body = "installation-0001", {"app": "com.example.shop", "audiences": ["place/42"]}
    body["address"] = {"kind": "installation_id", "value": "fid-1"}
    path = f"/v1/devices/{phone}"
    ada, ben = user_token("ada"), user_token("ben")
    status, answer = desk.ask(ada, "PUT", path, body)
    expect("a registration", (status, answer["person"], answer["audiences"]), (201, "ada", ["place/42"]))
    expect("its secret is new, where the answer was lost", desk.ask(ada, "PUT", f"{path}?new_secret=1", body)[0], 200)
    secret = desk.ask(ada, "PUT", f"{path}?new_secret=1", body)[1]["secret"]
    for asked, method, more, wanted in (
        (ada, "GET", None, 200),
        (ben, "GET", None, 404),
        (ben, "DELETE", None, 404),
        # Not without the address that the phone has now.
        (ben, "PUT", body | {"address": {"kind": "installation_id", "value": "fid-2"}}, 404),
        (ada, "PUT", body | {"person": "ben"}, 403),
        (ada, "PUT", body | {"audiences": ["place/43"]}, 403),
        (user_token("ada", device="installation-0002"), "PUT", body, 404),
        (user_token("ada", exp=now_ms() // 1000 - 3_600, iat=now_ms() // 1000 - 7_200), "PUT", body, 401),
        (ada[:-2], "PUT", body, 401),
    ):
        expect(f"{method} {more}", desk.ask(asked, method, path, more)[0], wanted)
    expect("a request", desk.ask(ada, "PUT", "/v1/requests/1", {"audience": "place/42", "message": {"title": "T"}})[0], 401)
    # Ben logs in on Ada's phone, which shows its address.
    expect("another login", desk.ask(ben, "PUT", path, body)[1]["person"], "ben")
    expect("who was logged in before", desk.ask(ada, "GET", path)[0], 404)
    # A phone whose session is over has its credential.
    moved = {"address": {"kind": "installation_id", "value": "fid-3"}}
    for credential, method, target, more, wanted in (
        (answer["secret"], "GET", path, None, 404),
        (secret, "GET", path, None, 200),
        (secret, "PATCH", path, moved, 200),
        (secret, "PATCH", path, {"audiences": ["place/42", "place/43"]}, 403),
        (secret, "PATCH", path, {"address": body["address"]}, 200),
        (secret, "GET", "/v1/devices/installation-0002", None, 404),
    ):
        headers = {"Authorization": f"Device {phone}:{credential}"}
        expect(f"{method} by the device", desk.ask(ben, method, target, more, headers)[0], wanted)
    people = "/v1/people/ben"
    expect("a person's time zone", desk.ask(ben, "PATCH", people, {"time_zone": "Europe/Berlin"})[1]["time_zone"], "Europe/Berlin")
    expect("another one's", [desk.ask(ada, *asked)[0] for asked in (("GET", people), ("DELETE", f"{people}/devices"))], [404, 404])
    expect("a logout from elsewhere", desk.ask(ben, "DELETE", f"{people}/devices/{phone}")[0], 204)
    expect("another login", desk.ask(ben, "PUT", path, body)[1]["person"], "ben")
    for _ in range(2):
        expect("a logout, and again, since its answer was lost", desk.ask(ben, "DELETE", f"{path}/person")[0], 204)
    registrar.stop()
    desk.stop(30)
    world.verify()
    newest = {each.key.decode(): each.value for each in world.read("subscriptions")}
    expect(
        "who is subscribed in the end",
        [key for key, value in newest.items() if value],
        [f"device/{sha256('fid-1')}|{sha256('fid-1')}"],
    )
    if any(each in desk.log(whole=True) for each in ("fid-1", ada, secret)):
        expect("an address, a token or a secret in the log", True, False)


@scenario(
    "a token from before its person was erased is 410 for everything, also once who came back has a newer one", background=True
)
def old_token(harness):
    world = RegistrarWorld(harness, "registrar-old-token")
    key = create_key(harness, world.folder, "people:erase", "people:read", "devices:read")
    registrar, desk = world.registrar("a").start(), desk_for_users(world)
    phone, body = "installation-0001", {"app": "com.example.shop", "audiences": ["place/42"]}
    old = user_token("ada")
    expect("an erasure", desk.ask(key, "DELETE", "/v1/people/ada")[0], 200)
    new = user_token("ada", iat=now_ms() // 1000 + 1)
    expect("who came back", desk.ask(new, "PUT", f"/v1/devices/{phone}", body)[0], 201)
    found = {}
    for method, path, more in (
        ("PUT", f"devices/{phone}", body),
        ("PATCH", f"devices/{phone}", {"locale": "de"}),
        ("GET", f"devices/{phone}", None),
        ("GET", "people/ada", None),
        ("GET", "people/ada/devices", None),
        ("DELETE", f"people/ada/devices/{phone}", None),
        ("DELETE", "people/ada/devices", None),
        ("DELETE", f"devices/{phone}/audiences/place%2F42", None),
        ("DELETE", f"devices/{phone}/person", None),
        ("DELETE", f"devices/{phone}", None),
    ):
        found[f"{method} {path}"] = desk.ask(old, method, f"/v1/{path}", more)[0]
        # What the old token has undone is made again.
        desk.ask(new, "PUT", f"/v1/devices/{phone}", body)
    registrar.stop()
    desk.stop(30)
    expect("by the old token", found, dict.fromkeys(found, 410))


@scenario(
    "who was erased stays so: imports, replays and re-drives leave out what is older, until they register again", background=True
)
def suppressed(harness):
    class Both(Registrar):
        roles = "pipeline,registrar"

    world = RegistrarWorld(harness, "registrar-suppressed")
    world.cluster.create_topics({f"{world.name}.requests": (1, {})})
    key = create_key(harness, world.folder, "devices:write", "people:erase")
    daemon, desk = world.registrar("a", Both).start(), Desk(world, "x").start()
    wait_until_ready(desk)
    phone = {"app": "com.example.shop", "audiences": ["place/7"], "address": {"kind": "registration_token", "value": "token-1"}}
    # Nobody is subscribed yet.
    expect("pushes of what is missed", len(pushes_of(world, daemon, "missed")), 0)
    expect("a login", desk.put(key, "installation-0001", phone | {"person": "17"})[0], 201)
    other = phone | {"address": {"kind": "registration_token", "value": "token-2"}, "person": "18"}
    expect("another's", desk.put(key, "installation-0002", other)[0], 201)
    stranger = subscription("17", "token-9", audience="user/17", registered_at="2026-01-01T00:00:00Z")
    stranger = stranger._replace(key=f"user/17|{sha256('token-9')}".encode())
    world.cluster.produce(world.topics["subscriptions"], [stranger])
    orders = []

    def announce():
        orders.append(f"sent-{len(orders)}")
        return set(pushes_of(world, daemon, orders[-1]))

    both = {sha256(f"token-{number}") for number in (1, 2)}
    wait_for_daemons("both have a push", lambda: announce() == both, [daemon])
    before = orders[-1]

    def is_erased():
        """Also at the address that the registrar reads of when it has read it."""
        expect("an erasure", desk.ask(key, "DELETE", "/v1/people/17")[0], 200)
        return {each.key: each.value for each in world.read("subscriptions")}[stranger.key] is None

    wait_for_daemons("the stranger's subscription is gone", is_erased, [daemon])
    addresses = json.loads(world.read("erasures")[-1].value)["addresses"]
    expect("the addresses that are erased", set(addresses), {sha256(f"token-{number}") for number in (1, 9)})
    withdrawn = [each for each in world.read("control") if each.key.decode().startswith(f"address/{sha256('token-9')}/")]
    members = [json.loads(each.value)["audiences_sha256"] for each in withdrawn]
    expect("what is withdrawn from the stranger", members, [[sha256("user/17")]])

    # Old copies: of the subscriptions, of the devices, and a command that nobody has looked at.
    old = {"registered_at": "2026-01-01T00:00:00Z"}
    copies = [stranger, *(subscription("7", f"token-{number}", **old) for number in (1, 9, 6))]
    lines = world.folder / "old.jsonl"
    lines.write_bytes(b"".join(each.value + b"\n" for each in copies))
    settings = world.settings("cli")
    summary = json.loads(harness.run("subscriptions", "import", str(lines), "--json", settings=settings)[1])
    expect("what is imported", (summary["imported"], summary["erased"]), (1, 3))
    address = {"kind": "registration_token", "value": "token-5"}
    devices = [
        phone | {"device": "installation-0001", "person": "17"},
        phone | {"device": "installation-0003"},
        phone | {"device": "installation-0004", "person": "17", "address": address},
        phone | {"device": "installation-0005", "person": "19", "address": address},
    ]
    body, ndjson = "\n".join(map(json.dumps, devices)).encode(), {"Content-Type": "application/x-ndjson"}
    expect("an import of all", desk.ask(key, "POST", "/v1/devices:import", body, ndjson)[0], 422)
    status, answer = desk.ask(key, "POST", "/v1/devices:import?partial=1", body, ndjson)
    refused = [(each["line"], each["code"]) for each in answer["refused"]]
    expect("an import", (status, answer["recorded"], refused), (202, 1, [(line, "person-erased") for line in (1, 2, 3)]))
    world.send(register("installation-0001", "token-1", "place/7", unless_erased=True))
    world.wait_until_decided()
    verdicts = [(each["verdict"], each.get("reason")) for each in world.verdicts()[-2:]]
    expect("what is decided", verdicts, [("created", None), ("refused", "person_erased")])

    # Somebody writes the old subscription again: it is there, and nothing that is older is sent to it.
    world.cluster.produce(world.topics["subscriptions"], [subscription("7", "token-1", **old)])
    wait_for_daemons("it has pushes", lambda: sha256("token-1") in announce(), [daemon])

    for view, wanted in (("as-of-event", (2,)), ("now", (2, 5, 6))):
        words = ("replay", "write", "--subscriptions", view, "--order", before, "--output", "-")
        code, output, said = harness.run(*words, settings=settings)
        devices = [each["key"] for each in map(json.loads, output.splitlines()) if each["topic"] == world.topics["dispatch"]]
        expect(f"to whom it is written, {view}", (code, set(devices)), (0, {sha256(f"token-{number}") for number in wanted}))
        expect(f"what it says, {view}", "left out: 1 of people or addresses that were erased since" in said, True)
    words = ["replay", "redrive", "--subscriptions", "now", "--order", "missed", "--json", "--id", "again"]
    words += ["--i-understand-this-notifies-people", "--confirm", "3"]
    plan, sent = map(json.loads, harness.run(*words, settings=settings)[1].splitlines())
    expect("a re-drive leaves out", plan["left_out"], {"erased": 1})
    expect("and sends", sent["sent"], 3)
    again = {each.key.decode() for each in world.read("dispatch") if dict(each.headers).get("replay") == b"again"}
    expect("to whom", again, {sha256(f"token-{number}") for number in (2, 5, 6)})

    # The person comes back.
    expect("who came back", desk.put(key, "installation-0001", phone | {"person": "17"})[0], 201)
    wait_for_daemons("a push", lambda: sha256("token-1") in announce(), [daemon])
    output = harness.run("replay", "write", "--order", orders[-1], "--output", "-", settings=settings)[1]
    expect("who came back is written", sha256("token-1") in output, True)
    daemon.stop()
    desk.stop(30)


@scenario(
    "an export has the person, each device and each command of the person, member by member, and nothing of anybody else",
    background=True,
)
def export(harness):
    world = RegistrarWorld(harness, "registrar-export")
    key = create_key(harness, world.folder, *(f"{kind}:{may}" for kind in ("devices", "people") for may in ("read", "write")))
    eraser = create_key(harness, world.folder, "people:erase")
    registrar, desk = world.registrar("a").start(), desk_for_users(world)
    phones = {person: f"installation-of-{person}" for person in ("ada", "ben")} | {"both": "installation-of-both"}
    zones = {"ada": "Asia/Tokyo", "ben": "Asia/Dubai"}
    secrets = ["fid-of-ada", "fid-of-ben", "fid-of-both", "newer-fid-of-ada"]

    def address(value):
        return {"kind": "installation_id", "value": value}

    def ask(by, method, path, body=None, headers=None):
        status, answer = desk.ask(by, method, f"/v1/{path}", body, headers)
        expect(f"{method} {path}: {answer}", status in (200, 201, 204), True)
        return answer

    def lines(person):
        """What is exported, and the text of it."""
        response, text = desk.fetch(key, "GET", f"/v1/people/{person}/export", headers=AT_ONCE)
        kind, cached = response.headers["Content-Type"], response.headers["Cache-Control"]
        expect("an export", (response.status, kind, cached), (200, "application/x-ndjson", "no-store"))
        found = [next(iter(json.loads(line).items())) for line in text.splitlines()]
        return [[value for name, value in found if name == kind] for kind in ("person", "device", "command")], text.decode()

    def commands(found):
        """Without what is only known once they are there."""
        log = world.read("commands")
        for each in found:
            record = log[each.pop("position")]
            expect("when it was", iso(record.timestamp), each.pop("at"))
        return found

    shop = {"app": "com.example.shop"}
    for person in ("ada", "ben"):
        ask(key, "PUT", f"people/{person}/audiences", [f"place/granted-{person}"])
        ask(user_token(person), "PATCH", f"people/{person}", {"locale": f"en-{person}", "time_zone": "Europe/Berlin"})
        body = shop | {"address": address(f"fid-of-{person}"), "audiences": ["place/42"], "generation": 3, "locale": f"fr-{person}"}
        secret = ask(user_token(person), "PUT", f"devices/{phones[person]}", body)["secret"]
        secrets.append(secret)
        if person == "ada":
            credential = {"Authorization": f"Device {phones['ada']}:{secret}"}
            ask(None, "PATCH", f"devices/{phones['ada']}", {"address": address("newer-fid-of-ada")}, credential)
        both = shop | {"address": address("fid-of-both"), "audiences": [f"channel/of-{person}"], "person": person}
        ask(key, "PUT", f"devices/{phones['both']}", both | {"time_zone": zones[person]})
        ask(key, "PUT", f"devices/{phones['both']}/audiences/{f'channel/more-{person}'.replace('/', '%2F')}")
    ask(user_token("ada"), "PATCH", f"devices/{phones['ada']}", {"locale": "fr"})

    def made(person, last):
        """The commands that both have, and those that follow them."""
        name, kind = phones[person], "installation_id"
        return [
            {"by": "key", "action": "change_person", "audiences": [f"place/granted-{person}"]},
            {"by": "user", "action": "change_person", "locale": f"en-{person}", "time_zone": "Europe/Berlin"},
            {
                "by": "user",
                "action": "change_device",
                "device": name,
                "address": {"kind": kind, "sha256": sha256(f"fid-of-{person}")},
            }
            | {"app": "com.example.shop", "locale": f"fr-{person}", "person": person, "audiences": ["place/42"]},
            *last,
        ]

    def of_both(person):
        shared = {"by": "key", "action": "change_device", "device": phones["both"]}
        hash_of_both = {"kind": "installation_id", "sha256": sha256("fid-of-both")}
        whole = {"address": hash_of_both, "app": "com.example.shop", "time_zone": zones[person], "person": person}
        return [shared | whole | {"audiences": [f"channel/of-{person}"]}, shared | {"adds": [f"channel/more-{person}"]}]

    rotated = {"by": "device", "action": "change_device", "device": phones["ada"]}
    rotated |= {"address": {"kind": "installation_id", "sha256": sha256("newer-fid-of-ada")}}
    # Of the other's login it says only that this person has left.
    left = {"by": "key", "action": "change_device", "device": phones["both"]}
    renamed = {"by": "user", "action": "change_device", "device": phones["ada"], "locale": "fr"}
    wanted = {
        "ada": made("ada", [rotated, *of_both("ada"), left, renamed]),
        "ben": made("ben", of_both("ben")),
    }
    owned = {"ada": [phones["ada"]], "ben": [phones["ben"], phones["both"]]}
    for person, other in (("ada", "ben"), ("ben", "ada")):
        (people, devices, found), text = lines(person)
        expect(f"the person {person}", people, [ask(key, "GET", f"people/{person}")])
        expect("what is known of it", (people[0]["person"], people[0]["locale"]), (person, f"en-{person}"))
        expect("what was granted", (people[0]["audiences"], people[0]["devices"]), ([f"place/granted-{person}"], len(devices)))
        expect("the devices", sorted(each["device"] for each in devices), owned[person])
        expect("what is known of them", devices, [ask(key, "GET", f"devices/{each['device']}") for each in devices])
        expect("the commands", commands(found), wanted[person])
        expect(f"what it has of {other}", other in text, False)
        expect("secrets in it", [each for each in secrets if each in text], [])
    expect("a key that may not", desk.ask(eraser, "GET", "/v1/people/ada/export")[0], 403)
    expect("a user", desk.ask(user_token("ada"), "GET", "/v1/people/ada/export")[0], 401)
    expect("nobody", desk.ask(key, "GET", "/v1/people/nobody/export")[0], 404)
    # Who is erased has the time of it, and what the log of commands still says.
    erased = ask(eraser, "DELETE", "people/ada")["erased_at"]
    (people, devices, found), _ = lines("ada")
    expect("who is erased", (people, devices), ([{"person": "ada", "audiences": [], "devices": 0, "erased_at": erased}], []))
    # That a login by a user was decided nothing shows any more, so what the device did by itself is nobody's.
    still = [each for each in wanted["ada"] if each is not rotated] + [{"by": "key", "action": "erase_person"}]
    expect("the commands then", commands(found), still)
    registrar.stop()
    desk.stop(30)
    world.verify()


@scenario("who is erased again is told when it was this time", background=True)
def erased_again(harness):
    world = RegistrarWorld(harness, "registrar-erased-again")
    key = create_key(harness, world.folder, "people:erase")
    registrar, desk = world.registrar("a").start(), desk_for_users(world)
    told = [desk.ask(key, "DELETE", "/v1/people/ada")[1]["erased_at"] for _ in range(100)]
    registrar.stop()
    desk.stop(30)
    erased = [iso(json.loads(each.value)["at"]) for each in world.read("erasures")]
    expect("what was told late", [pair for pair in zip(told, erased, strict=True) if pair[0] != pair[1]], [])


@scenario("the sample app registers a phone, keeps it over a new address and another login, and logs out", background=True)
def app(harness):
    program = os.environ.get("RECEIVING_APP")
    if not program:
        raise Skipped("it needs the sample app, which RECEIVING_APP names")
    world = RegistrarWorld(harness, "registrar-app")
    key = create_key(harness, world.folder, "devices:read")
    registrar, desk = world.registrar("a").start(), desk_for_users(world)
    store = world.folder / "phone.json"

    def start(fid, person=None, token=None, *audiences):
        """One start of the app: how it has ended, and what the server has then."""
        words = ["--register", f"http://127.0.0.1:{desk.port}", "--store", store, "--fid", fid]
        words += ["--person", person] if person else []
        if token:
            (world.folder / "token").write_text(user_token(token, audiences=["place/42", "channel/offers"]))
            words += ["--token", world.folder / "token"]
        for audience in audiences:
            words += ["--audience", audience]
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60 * PATIENCE)
        known = desk.ask(key, "GET", f"/v1/devices/{json.loads(store.read_text())['id']}")[1]
        return done.stdout.strip(), known.get("person"), known.get("audiences"), known.get("address", {}).get("sha256")

    own = ["channel/offers", "place/42"]
    expect("the first start", start("fid-1", "ada", "ada", *own), ("registered", "ada", own, sha256("fid-1")))
    kept = json.loads(store.read_text())
    expect("the next start", start("fid-1", "ada", "ada", *own), ("registered", "ada", own, sha256("fid-1")))
    expect("what it keeps then", json.loads(store.read_text()), kept)
    expect("a new address", start("fid-2", "ada", "ada", *own), ("registered", "ada", own, sha256("fid-2")))
    expect("another login", start("fid-2", "ben", "ben", "place/42"), ("registered", "ben", ["place/42"], sha256("fid-2")))
    # With a device credential a logout needs no token.
    token = None if kept.get("secret") else "ben"
    expect("a logout", start("fid-2", None, token), ("loggedOut", None, [], sha256("fid-2")))
    expect("the devices", len({each.key for each in world.read("devices")}), 1)
    registrar.stop()
    desk.stop(30)
    world.verify()


if __name__ == "__main__":
    sys.exit(main("registrar", __doc__, globals(), sizes=SIZES))
