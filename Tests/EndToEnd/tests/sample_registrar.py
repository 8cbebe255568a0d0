"""What a registrar would have written for some commands, and what clients of the HTTP API would have been told."""

import json

from generator.commands import Commands
from generator.inputs import compact
from model.records import Record
from model.registrar import Registry
from model.registrar_answers import REFUSALS, Exchange, document
from model.registrar_decisions import Decisions

# By action, how it is asked for over HTTP; what is not here only backends write.
METHODS = {"change_device": "PUT", "delete_device": "DELETE"}


class SampleRegistrar:
    """The topics as lists of records, and one request a command, each answered before the next one."""

    def __init__(self, seed=1, count=250):
        self.commands, self.exchanges, self.decisions = [], [], Decisions()
        self.verdicts, self.devices, self.people, self.subscriptions = [], [], [], []
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
        for key, (value, since) in decision.subscriptions.items():
            headers = [("command", str(command).encode())] + ([("since", str(since).encode())] if since else [])
            self._add(self.subscriptions, key, value, tuple(headers))

    def _add(self, records, key, value, headers=()):
        values = [None if each is None else each.encode() if isinstance(each, str) else compact(each) for each in (key, value)]
        records.append(Record("", 0, len(records), 0, *values, headers))

    def _answer(self, exchange, command, verdict):
        """A whole device, or a delete, as a client is told of it."""
        is_over_http = command["action"] == "delete_device" or command.get("whole")
        if not is_over_http:
            return
        exchange.method, exchange.path = METHODS[command["action"]], f"/v1/devices/{command['device']}"
        exchange.author, exchange.asked = {"by": command.pop("by")}, {name: command[name] for name in command if name != "version"}
        exchange.status = {"created": 201, "gone": 204, "refused": REFUSALS.get(verdict.get("reason"))}.get(verdict["verdict"], 200)
        if exchange.status in (200, 201):
            exchange.answer = document(self.decisions.devices[command["device"]])
        self.exchanges.append(exchange)

    @property
    def registry(self):
        return Registry(self.commands, self.verdicts, self.devices, self.people, self.subscriptions)
