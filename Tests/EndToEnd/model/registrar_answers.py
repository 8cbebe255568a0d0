"""What clients of the HTTP API were told, beside what the commands in the log say."""

import collections
import json
from dataclasses import dataclass, field
from typing import Optional, Union

from model.registrar_decisions import iso, live, sha256
from model.registrar_requests import kind_of, parts

# What a client may be told where the registrar has refused.
REFUSALS = {
    "not_found": 404,
    "not_this_device": 404,
    "not_by_credential": 403,
    "precondition_failed": 412,
    "stale_generation": 409,
    "too_many_audiences": 422,
    "invalid": 422,
    "person_erased": 410,
}
DONE = (200, 201, 204)
# Which answers say that nothing is in the log; any other 503 leaves it open.
NOT_RECORDED = {"not-recorded", "starting", "overloaded", "draining"}
TOO_MANY = 429


@dataclass
class Exchange:
    """One request, and its answer; `status` is None where the connection ended without one."""

    number: int
    process: str
    method: str
    path: str
    # As the commands in the log have it: who asks.
    author: dict = field(default_factory=dict)
    # As `registrar_requests.asks` has it: the commands, or the status of a refusal.
    asked: Union[list, int] = field(default_factory=list)
    body: Optional[bytes] = None
    headers: dict = field(default_factory=dict)
    status: Optional[int] = None
    answer: dict = field(default_factory=dict)
    # In seconds since 1970.
    began: float = 0
    ended: float = 0

    @property
    def kind(self):
        """devices/audiences."""
        return kind_of(self.path)

    @property
    def resource(self):
        """What it is about, as `Decisions.history` has it: devices/NAME."""
        names = parts(self.path)
        return "/".join(names[2:4] if self.kind == "people/devices" and len(names) > 3 else names[:2])

    @property
    def commands(self):
        return self.asked if isinstance(self.asked, list) else []

    @property
    def trace(self):
        return f"00-{self.number + 1:032x}-{1:016x}-01"

    @property
    def code(self):
        return self.answer.get("code")

    @property
    def is_open(self):
        """Whether the client cannot know what became of it."""
        return self.status is None or (self.status == 503 and self.code not in NOT_RECORDED)

    def overlaps(self, other):
        return self.began <= other.ended and other.began <= self.ended

    @property
    def only(self):
        """Which member a device has to have for being shown, and with which value; None: it always is."""
        author, _, name = self.author.get("by", "").partition(":")
        if self.kind == "people/devices":
            return "person", parts(self.path)[1]
        if author == "user" and self.kind.startswith("devices"):
            return "person", name
        return ("credential", name) if author == "device" and self.method == "GET" else None

    def __str__(self):
        return f"{self.method} {self.path} at {self.process}, request {self.number}"


def document(state):
    """A device or a person as a client sees it, but for what follows from others."""
    known = ("revision", "person", "locale", "time_zone", "audiences")
    if "device" not in state:
        return {each: state[each] for each in known if each in state}
    address, known = state["address"], (*known, "device", "app", "environment", "generation")
    shown = {"state": address["state"]}
    if live(state):
        shown |= {"kind": address["kind"], "sha256": sha256(address["value"]), "since": iso(address["since"])}
    elif address["state"] == "dead":
        shown |= {"sha256": address["sha256"], "provider": address["platform"], "reason": address["reason"]}
        shown |= {"since": iso(address["at"])}
    elif address["state"] == "claimed":
        shown |= {"sha256": address["sha256"], "since": iso(address["at"])}
    members = {each: state[each] for each in known if each in state}
    return members | {"address": shown} | {each: iso(state[each]) for each in ("registered_at", "seen_at")}


def shows(answer, state):
    """Whether an answer is this device or person; None: that there is none, or that nothing was set for the person."""
    if answer is not None and answer.keys() == {"audiences"}:
        return answer["audiences"] == (state["audiences"] if state else [])
    if answer is None or not {"revision", "device"} & answer.keys():
        return state is None
    if state is None:
        return False
    known = document(state)
    others = {"locale", "time_zone", "person", "generation"} - known.keys()
    return all(answer.get(each) == value for each, value in known.items()) and not others & answer.keys()


def check_answers(exchanges, commands, decisions, newest_lag, report):
    """Each answer is what the command's verdict says, and what a client is shown is what was so, and not older than what the same
    process has told before, or any process `newest_lag` seconds ago. Returns by the offset of a command when its answer came."""
    offsets = {}
    for record in commands:
        offsets.setdefault(record.traceparent, []).append(record.offset)
    recorded = {record.offset: json.loads(record.value) for record in commands}
    unclear = [each for each in exchanges if each.is_open and each.commands]
    for each in exchanges:
        if is_of_erased(each, decisions) and each.trace not in offsets:
            continue
        if each.commands:
            check_commands(each, offsets.get(each.trace, []), recorded, decisions, unclear, report)
        else:
            check_without_commands(each, offsets.get(each.trace, []), report)
    told = {each.number: told_by(each, offsets.get(each.trace, []), recorded, decisions) for each in exchanges}
    check_shown(exchanges, told, decisions, newest_lag, report)
    answered = {}
    for each in sorted(exchanges, key=lambda each: each.ended, reverse=True):
        answered |= dict.fromkeys(told[each.number].values(), each.ended)
    return answered


def is_of_erased(exchange, decisions):
    """Whether it is refused since its token is from before an erasure of the person, which its process may know, or not yet."""
    name = exchange.author.get("by", "").removeprefix("user:")
    times = [decisions.times[at] for at, erased in decisions.erasures.items() if erased == name]
    return exchange.status == 410 and any(
        exchange.author.get("issued_at", 0) <= at <= exchange.ended * 1000 + 1_000 for at in times
    )


def check_erased_lines(exchange, decisions, report):
    """How many lines of an import are refused since they would bring back somebody who was erased."""
    answer = exchange.answer or {}
    numbers = [each["line"] for each in answer.get("refused", []) if each["code"] == "person-erased"]
    numbers += [int(each["pointer"].split("/")[1]) for each in answer.get("errors", []) if each["code"] == "person-erased"]
    lines = exchange.body.split(b"\n") if numbers else []
    for number in numbers:
        line = json.loads(lines[number - 1])
        person, address = line.get("person"), sha256((line.get("address") or {"value": ""})["value"])
        known = [record for at, record in decisions.erasure_records.items() if decisions.erasures[at] == person]
        known += [record for record in decisions.erasure_records.values() if address in record["addresses"]]
        if not any(each["at"] <= exchange.ended * 1000 + 1_000 for each in known):
            report.add("a line is refused of which nobody was erased", f"{exchange}: {line}")
    return len(numbers)


def check_without_commands(exchange, offsets, report):
    """A request that is refused at once, one that looks, and an import of nothing."""
    wanted = (exchange.asked,) if isinstance(exchange.asked, int) else (202,) if exchange.method == "POST" else (200, 404)
    if exchange.status not in (*wanted, None, TOO_MANY, 503):
        report.add("an answer is not allowed", f"{exchange}: {exchange.status} {exchange.code}, expected {wanted}")
    if offsets:
        report.add("what writes nothing is in the log", f"{exchange}: {exchange.status}: {offsets}")


def check_commands(exchange, offsets, recorded, decisions, unclear, report):
    """One request and the commands that were recorded for it."""
    wanted = [{"version": 1} | exchange.author | each for each in exchange.commands]
    found = collections.defaultdict(list)
    for offset in offsets:
        # How a credential is made is the server's.
        command = {name: value for name, value in recorded[offset].items() if name != "new_credential"}
        if command in wanted:
            found[wanted.index(command)].append(offset)
        else:
            report.add("a command is not what was asked for", f"{exchange}: {recorded[offset]}, expected {wanted}")
    # Where a record times out, librdkafka sends what was under way beside it again in a new epoch (docs/api.md).
    most = 2 if any(each.process == exchange.process and each.overlaps(exchange) for each in unclear) else 1
    if any(len(each) > most for each in found.values()):
        report.add("a request was recorded several times", f"{exchange}: {offsets}")
    if exchange.is_open:
        return
    is_everywhere = exchange.method == "DELETE" and len(wanted) > 1
    if exchange.status in (TOO_MANY, 503):
        # Of several logouts the first that was not recorded is the answer.
        if offsets and not is_everywhere:
            report.add("what was not recorded is in the log", f"{exchange}: {exchange.status} {exchange.code}: {offsets}")
    elif exchange.status == 202:
        is_there = exchange.answer.get("command") in offsets
        if exchange.method == "POST":
            erased = check_erased_lines(exchange, decisions, report)
            is_there = len(found) == len(wanted) - erased == exchange.answer["recorded"]
        if not is_there:
            report.add("what was recorded is not in the log", f"{exchange}: {exchange.answer}, found {offsets}")
    elif exchange.method == "POST" and exchange.status == 422 and not offsets and check_erased_lines(exchange, decisions, report):
        pass
    elif not offsets and (says_what_is_asked(exchange) or (is_everywhere and exchange.status == 204)):
        # It was so already: what it shows is checked as what a GET shows, and who is logged out as after any logout.
        pass
    elif not offsets:
        report.add("an answer is of no command", f"{exchange}: {exchange.status} {exchange.answer}")
    elif not any(fits(exchange, recorded[offset], decisions, offset) for offset in offsets):
        verdicts = [decisions.decided[offset].verdict for offset in offsets]
        report.add("an answer is not the verdict", f"{exchange}: {exchange.status} {exchange.answer}, expected {verdicts}")


def says_what_is_asked(exchange):
    """Whether a PUT of the whole device is answered with what it asks for, of which nothing is recorded."""
    asked, answer = exchange.commands[0], exchange.answer or {}
    if (exchange.method, exchange.status) != ("PUT", 200) or not asked.get("whole") or "?" in exchange.path:
        return False
    address = asked.get("address")
    shown = {each: (answer.get("address") or {}).get(each) for each in ("kind", "sha256")}
    wanted = {"kind": address["kind"], "sha256": sha256(address["value"])} if address else shown
    is_same = all(answer.get(each) == asked.get(each) for each in ("app", "locale", "time_zone", "person"))
    is_newest = asked.get("generation") in (None, answer.get("generation"))
    return is_same and is_newest and shown == wanted and answer.get("audiences") == sorted(set(asked.get("audiences") or []))


def fits(exchange, command, decisions, offset):
    """Whether an answer is what this command's verdict says."""
    verdict = decisions.decided[offset].verdict
    if exchange.kind == "people/devices":
        # A device that is not the person's is none on which the person is logged in.
        return exchange.status == 204
    if verdict["verdict"] == "refused":
        return exchange.status == REFUSALS[verdict["reason"]]
    if verdict["verdict"] == "erased":
        # Two processes that erase a person at once may both say when the first one did.
        times = {iso(decisions.times[at]) for at, name in decisions.erasures.items() if name == command["person"]}
        shown = {each: exchange.answer.get(each) for each in ("person", "devices")}
        return shown == {"person": command["person"], "devices": verdict["devices"]} and exchange.answer["erased_at"] in times
    if exchange.method == "DELETE":
        return exchange.status == 204
    if exchange.status in (204, 404):
        # It was done, and by then the device is nobody's, or another person's: what it has is not for the user. Or it is deleted.
        member, value = exchange.only or (None, None)
        states = states_from(offset, exchange.ended, spans_of(decisions.history[exchange.resource]), decisions)
        if exchange.status == 404:
            return None in states
        return member == "person" and any(state and state.get(member) != value for state in states)
    # A secret is told by the answer to the command that has made it, and by no other one.
    secret = exchange.answer.get("secret")
    is_told = command.get("new_credential") == (sha256(secret) if secret else None)
    is_new = verdict["verdict"] == "created" and exchange.kind == "devices"
    return is_told and exchange.status == (201 if is_new else 200)


def told_by(exchange, offsets, recorded, decisions):
    """By resource, the offset of the command of which an answer says that it is done."""
    told = {}
    for offset in sorted(offsets, reverse=True) if exchange.status in DONE else ():
        decision, command = decisions.decided[offset], recorded[offset]
        if decision.verdict["verdict"] != "refused":
            own = "devices/" + command["device"] if "device" in command else "people/" + command["person"]
            told |= dict.fromkeys([own, *(f"devices/{name}" for name, _ in decision.devices)], offset)
    return told


def shown_by(exchange, devices):
    """By resource, what an answer shows; None: nothing that whoever asks may see."""
    is_shown = exchange.status in (200, 201) or (exchange.method == "GET" and exchange.status == 404)
    if not is_shown or exchange.method == "DELETE" or isinstance(exchange.asked, int):
        return {}
    if exchange.kind == "people/devices":
        items = {"devices/" + each["device"]: each for each in exchange.answer["items"]}
        return dict.fromkeys(devices) | items
    return {exchange.resource: exchange.answer if exchange.status in DONE else None}


def check_shown(exchanges, told, decisions, newest_lag, report):
    """What answers and GETs show, in the order of time."""
    # By resource and process, and by resource, the offset up to which everything must be seen; and what was decided at all.
    known, everywhere, newest = collections.defaultdict(lambda: -1), collections.defaultdict(lambda: -1), -1
    moments = []
    for each in exchanges:
        moments += [(each.began, 0, each), (each.ended, 1, each), (each.ended + newest_lag, 2, each)]
    least, before = {}, {}
    spans = collections.defaultdict(lambda: spans_of([(-1, None)]))
    spans |= {resource: spans_of(history) for resource, history in decisions.history.items()}
    devices = [each for each in decisions.history if each.startswith("devices/")]
    for _, kind, each in sorted(moments, key=lambda moment: moment[:2]):
        shown, process, done = shown_by(each, devices), each.process, told[each.number]
        if kind == 0:
            before[each.number] = newest
            least[each.number] = {name: max(known[name, process], everywhere[name]) for name in shown}
        elif kind == 1:
            for name, answer in shown.items():
                check_state(each, answer, spans[name], max(least[each.number][name], done.get(name, -1)), report)
                known[name, process] = max(known[name, process], (answer or {}).get("revision", -1))
            for name, offset in done.items():
                known[name, process], newest = max(known[name, process], offset), max(newest, offset)
            if each.method == "DELETE" and each.kind == "people/devices" and each.status == 204:
                check_logged_out(each, before[each.number], spans, decisions, report)
        else:
            for name, offset in done.items():
                everywhere[name] = max(everywhere[name], offset)


def spans_of(history):
    """What a resource has been: states, from which offset on and before which one."""
    ends = [at for at, _ in history[1:]] + [float("inf")]
    return [(state, at, end) for (at, state), end in zip(history, ends, strict=True)]


def states_from(offset, ended, spans, decisions):
    """What a resource has been from an offset on, until a time."""
    return [state for state, at, end in spans if end > offset and decisions.times.get(at, 0) <= ended * 1000]


def check_state(exchange, answer, spans, bound, report):
    """The resource has been as it was shown, at the offset `bound` or later."""
    member, value = exchange.only or (None, None)
    revision = (answer or {}).get("revision")
    ends = []
    for state, _, end in spans:
        seen = None if state and member and state.get(member) != value else state
        if (revision is None or (seen and seen["revision"] == revision)) and shows(answer, seen):
            ends.append(end)
    if not ends:
        report.add("what was shown never was so", f"{exchange}: {answer}")
    elif max(ends) <= bound:
        report.add("what was shown is older than what was told", f"{exchange}: {answer}, gone at {max(ends)}, told of {bound}")
    if exchange.author.get("by", "").startswith("device:") and (answer or {}).get("person_audiences"):
        report.add("a credential was shown what its person is granted", f"{exchange}: {answer}")


def check_logged_out(exchange, before, spans, decisions, report):
    """No device is the person's all the time from before the request, `before` being decided by then, until its answer."""
    resource, person = exchange.resource, parts(exchange.path)[1]
    for name in [resource] if resource.startswith("devices/") else [each for each in spans if each.startswith("devices/")]:
        states = states_from(before, exchange.ended, spans[name], decisions)
        if all(state and state.get("person") == person for state in states):
            report.add("a person is logged in after the logout", f"{exchange}: {name}")


def shown_in_the_end(decisions, resource):
    """What a GET comes to show; None: nothing is known."""
    name = resource.partition("/")[2]
    if resource.startswith("devices/"):
        state = decisions.devices.get(name)
        granted = decisions.people.get((state or {}).get("person"), {}).get("audiences", [])
        return state and document(state) | ({"person_audiences": granted} if "person" in state else {})
    state, erased = decisions.people.get(name), decisions.erased.get(name)
    devices = sum(each.get("person") == name for each in decisions.devices.values())
    if not state and not devices and erased is None:
        return None
    shown = document(state) if state else {"person": name, "audiences": []}
    return shown | {"devices": devices} | ({"erased_at": iso(erased)} if erased is not None else {})


def check_lasting(exchanges, registry, report):
    """What 200 and 201 have told is a record of the topic of devices, or of people."""
    records = [("devices/", each) for each in registry.devices] + [("people/", each) for each in registry.people]
    revisions = {(kind + each.key.decode(), json.loads(each.value)["revision"]) for kind, each in records if each.value}
    for each in exchanges:
        if "revision" in each.answer and (each.resource, each.answer["revision"]) not in revisions and each.status in (200, 201):
            report.add("what was told is lost", f"{each}: {each.answer}")
