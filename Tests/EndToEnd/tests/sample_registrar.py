"""What a registrar would have written for some commands, and what clients of the HTTP API would have been told."""

import json
from urllib.parse import quote

from generator.commands import Commands
from generator.inputs import compact
from model.records import Record
from model.registrar import Registry
from model.registrar_answers import REFUSALS, Exchange, document
from model.registrar_decisions import Decisions, iso, sha256

# By action and whether it is about a whole device: how it is asked for over HTTP. What is not here only others write.
WAYS = {
    ("change_device", True): ("PUT", "devices"),
    ("change_device", False): ("PATCH", "devices"),
    ("delete_device", None): ("DELETE", "devices"),
    ("change_person", None): ("PATCH", "people"),
    ("erase_person", None): ("DELETE", "people"),
}


class SampleRegistrar:
    """The topics as lists of records, and one request a command, each answered before the next one."""

    def __init__(self, seed=1, count=250):
        self.commands, self.exchanges, self.decisions = [], [], Decisions()
        self.verdicts, self.devices, self.people, self.subscriptions = [], [], [], []
        self.erasures, self.control = [], []
        commands = Commands(seed, devices=6, people=4, addresses=8)
        last = commands.next()
        for offset in range(count):
            # Each third one is a repeat.
            last = last if offset % 3 == 2 else commands.next()
            exchange = Exchange(offset, "x", "", "", began=offset + 0.1, ended=offset + 0.6)
            record = Record(
                "commands", 0, offset, 1_000 * offset + 300, None, last.value, (("traceparent", exchange.trace.encode()),)
            )
            self.commands.append(record)
            self._write(self.decisions.decide(record), offset)
            self._answer(exchange, json.loads(last.value), self.decisions.decided[offset].verdict)

    def _write(self, decision, command):
        self._add(self.verdicts, None, decision.verdict)
        for name, value in decision.devices:
            self._add(self.devices, name, value)
        for name, value in decision.people:
            self._add(self.people, name, value)
        if command in self.decisions.erasures:
            name = sha256(self.decisions.erasures[command])
            self._add(self.erasures, name, self.decisions.erasure_records[command])
        for address, audiences in decision.withdrawals.items():
            members = {} if audiences is None else {"audiences_sha256": sorted(map(sha256, audiences))}
            self._add(self.control, f"address/{address}/{command}", {"version": 1} | members)
        for key, (value, since) in decision.subscriptions.items():
            headers = [("command", str(command).encode())] + ([("since", str(since).encode())] if since else [])
            self._add(self.subscriptions, key, value, tuple(headers))

    def _add(self, records, key, value, headers=()):
        values = [None if each is None else each.encode() if isinstance(each, str) else compact(each) for each in (key, value)]
        records.append(Record("", 0, len(records), 0, *values, headers))

    def _answer(self, exchange, command, verdict):
        """As a client is told of it."""
        way = WAYS.get((command["action"], command.get("whole")))
        if not way or "adds" in command or "removes" in command:
            return
        name, verdict_name = command.get("device", command.get("person")), verdict["verdict"]
        exchange.method, exchange.path = way[0], f"/v1/{way[1]}/{quote(name)}"
        exchange.author, exchange.asked = (
            {"by": command.pop("by")},
            [{each: command[each] for each in command if each != "version"}],
        )
        exchange.status = 200
        if verdict_name == "erased":
            times = {"erased_at": iso(self.decisions.times[exchange.number])}
            exchange.answer = {"person": name, "devices": verdict["devices"]} | times
        elif verdict_name == "refused":
            exchange.status = REFUSALS[verdict["reason"]]
        elif way[0] == "DELETE":
            exchange.status = 204
        else:
            exchange.status = 201 if verdict_name == "created" and way[1] == "devices" else 200
            exchange.answer = document((self.decisions.devices if way[1] == "devices" else self.decisions.people)[name])
        self.exchanges.append(exchange)

    @property
    def registry(self):
        written = self.verdicts, self.devices, self.people, self.erasures, self.subscriptions, self.control
        return Registry(self.commands, *written)
