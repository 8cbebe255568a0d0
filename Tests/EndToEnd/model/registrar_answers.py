"""What clients of the HTTP API were told, beside what the commands in the log say."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Optional

from model.registrar_decisions import iso, live

# What a client may be told where the registrar has refused.
REFUSALS = {
    "not_found": 404,
    "not_this_device": 404,
    "not_by_credential": 404,
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
    # As the command in the log has them: who asks, and for what. None: nothing is written.
    author: dict = field(default_factory=dict)
    asked: Optional[dict] = None
    body: Optional[bytes] = None
    headers: dict = field(default_factory=dict)
    status: Optional[int] = None
    answer: dict = field(default_factory=dict)
    # In seconds since 1970.
    began: float = 0
    ended: float = 0

    @property
    def resource(self):
        """What it is about, as `Decisions.history` has it: devices/NAME."""
        return "/".join(self.path.split("/")[2:4])

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

    def __str__(self):
        return f"{self.method} {self.path} at {self.process}, request {self.number}"


def document(state):
    """A device as a client sees it, but for what was granted to its person."""
    address, known = state["address"], ("device", "revision", "app", "environment", "locale", "time_zone", "person")
    shown = {"state": address["state"]}
    if live(state):
        value = hashlib.sha256(address["value"].encode()).hexdigest()
        shown |= {"kind": address["kind"], "sha256": value, "since": iso(address["since"])}
    elif address["state"] == "dead":
        shown |= {"sha256": address["sha256"], "provider": address["platform"], "reason": address["reason"]}
        shown |= {"since": iso(address["at"])}
    elif address["state"] == "claimed":
        shown |= {"sha256": address["sha256"], "since": iso(address["at"])}
    members = {each: state[each] for each in (*known, "audiences", "generation") if each in state}
    return members | {"address": shown} | {each: iso(state[each]) for each in ("registered_at", "seen_at")}


def shows(answer, state):
    """Whether an answer is this device; None: that there is none."""
    if state is None or answer is None:
        return state is answer
    known = document(state)
    others = {"locale", "time_zone", "person", "generation"} - known.keys()
    return all(answer.get(each) == value for each, value in known.items()) and not others & answer.keys()


def check_answers(exchanges, commands, decisions, newest_lag, report):
    """Each answer is what the command's verdict says, and what a client is shown is what was so, and not older than what the same
    process has told before, or any process `newest_lag` seconds ago."""
    offsets = {}
    for record in commands:
        offsets.setdefault(record.traceparent, []).append(record.offset)
    recorded = {record.offset: json.loads(record.value) for record in commands}
    unclear = [each for each in exchanges if each.is_open and each.asked is not None]
    for each in exchanges:
        if each.asked is not None:
            check_command(each, offsets.get(each.trace, []), recorded, decisions, unclear, report)
    check_shown(exchanges, offsets, decisions, newest_lag, report)


def check_command(exchange, offsets, recorded, decisions, unclear, report):
    """One request and the commands that were recorded for it."""
    wanted = {"version": 1} | exchange.author | exchange.asked
    for offset in offsets:
        # A new credential is nothing that a client asks for.
        if {name: value for name, value in recorded[offset].items() if name != "new_credential"} != wanted:
            report.add("a command is not what was asked for", f"{exchange}: {recorded[offset]}, expected {wanted}")
    # Where a record times out, librdkafka sends what was under way beside it again in a new epoch (docs/api.md).
    if len(offsets) > 1 and (
        len(offsets) > 2 or not any(each.process == exchange.process and each.overlaps(exchange) for each in unclear)
    ):
        report.add("a request was recorded several times", f"{exchange}: {offsets}")
    if exchange.is_open:
        return
    if exchange.status in (TOO_MANY, 503):
        if offsets:
            report.add("what was not recorded is in the log", f"{exchange}: {exchange.status} {exchange.code}: {offsets}")
    elif exchange.status == 202:
        if exchange.answer.get("command") not in offsets:
            report.add("what was recorded is not in the log", f"{exchange}: {exchange.answer}, found {offsets}")
    elif not offsets and says_what_is_asked(exchange):
        # It was so already: what it shows is checked as what a GET shows.
        pass
    elif not offsets:
        report.add("an answer is of no command", f"{exchange}: {exchange.status} {exchange.answer}")
    elif not any(fits(exchange, decisions, offset) for offset in offsets):
        verdicts = [decisions.decided[offset].verdict for offset in offsets]
        report.add("an answer is not the verdict", f"{exchange}: {exchange.status} {exchange.code}, expected {verdicts}")


def says_what_is_asked(exchange):
    """Whether a PUT of the whole device is answered with what it asks for, of which nothing is recorded."""
    asked, answer = exchange.asked, exchange.answer or {}
    if (exchange.method, exchange.status) != ("PUT", 200) or not asked.get("whole"):
        return False
    address = asked.get("address")
    shown = {each: (answer.get("address") or {}).get(each) for each in ("kind", "sha256")}
    wanted = {"kind": address["kind"], "sha256": hashlib.sha256(address["value"].encode()).hexdigest()} if address else shown
    is_same = all(answer.get(each) == asked.get(each) for each in ("app", "locale", "time_zone", "person"))
    is_newest = asked.get("generation") in (None, answer.get("generation"))
    return is_same and is_newest and shown == wanted and answer.get("audiences") == sorted(set(asked.get("audiences") or []))


def fits(exchange, decisions, offset):
    """Whether an answer is what this command's verdict says."""
    verdict = decisions.decided[offset].verdict
    if verdict["verdict"] == "refused":
        return exchange.status == REFUSALS[verdict["reason"]]
    if exchange.method == "DELETE":
        return exchange.status == 204
    if exchange.status == 204:
        # It was done, and the device was another person's before the answer: what it has is not for the user.
        user = exchange.author.get("by", "").removeprefix("user:")
        others = [at for at, state in decisions.history[exchange.resource] if at > offset and state and state.get("person") != user]
        return exchange.author.get("by", "").startswith("user:") and any(
            decisions.times[at] <= exchange.ended * 1000 for at in others
        )
    if exchange.status == 404:
        # It was done, and the device was deleted before the answer.
        deleted = [at for at, state in decisions.history[exchange.resource] if at > offset and state is None]
        return any(decisions.times[at] <= exchange.ended * 1000 for at in deleted)
    return exchange.status == (201 if verdict["verdict"] == "created" else 200)


def check_shown(exchanges, offsets, decisions, newest_lag, report):
    """What answers and GETs show, in the order of time."""
    # By resource and process, and by resource, the offset up to which everything must be seen.
    known, everywhere = {}, {}
    moments = []
    for each in exchanges:
        moments += [(each.began, 0, each), (each.ended, 1, each), (each.ended + newest_lag, 2, each)]
    least, spans = {}, {resource: spans_of(history) for resource, history in decisions.history.items()}
    for _, kind, each in sorted(moments, key=lambda moment: moment[:2]):
        place, told = (each.resource, each.process), min(offsets.get(each.trace, [-1]))
        if kind == 0:
            least[each.number] = max(known.get(place, -1), everywhere.get(each.resource, -1))
        elif kind == 1:
            if each.status in (200, 201) or (each.method == "GET" and each.status == 404):
                bound = max(least[each.number], told if each.status in DONE else -1)
                answer = each.answer if each.status in DONE else None
                check_state(each, answer, spans.get(each.resource, spans_of([(-1, None)])), bound, report)
            if each.status in DONE:
                known[place] = max(known.get(place, -1), told, each.answer.get("revision", -1))
        elif each.status in DONE:
            everywhere[each.resource] = max(everywhere.get(each.resource, -1), told)


def spans_of(history):
    """By revision what a resource has been, and before which offset; by None when there was none."""
    spans, ends = {}, [at for at, _ in history[1:]] + [float("inf")]
    for (_, state), end in zip(history, ends, strict=True):
        spans.setdefault(state and state["revision"], []).append((state, end))
    return spans


def check_state(exchange, answer, spans, bound, report):
    """The resource has been as it was shown, at the offset `bound` or later."""
    ends = [end for state, end in spans.get(answer and answer.get("revision"), ()) if shows(answer, state)]
    if not ends:
        report.add("what was shown never was so", f"{exchange}: {answer}")
    elif max(ends) <= bound:
        report.add("what was shown is older than what was told", f"{exchange}: {answer}, gone at {max(ends)}, told of {bound}")


def check_lasting(exchanges, devices, report):
    """What 200 and 201 have told is a record of the topic of devices."""
    revisions = {("devices/" + each.key.decode(), json.loads(each.value)["revision"]) for each in devices if each.value}
    for each in exchanges:
        if each.status in (200, 201) and (each.resource, each.answer.get("revision")) not in revisions:
            report.add("what was told is lost", f"{each}: {each.answer}")
