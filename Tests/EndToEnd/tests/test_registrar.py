"""What a registrar has written wrong, and what a client was told wrong, is noticed."""

import copy
import itertools
import json
import unittest
from urllib.parse import quote

from generator.inputs import compact
from model.pushes import Request
from model.records import Record
from model.registrar import verify_registry
from model.registrar_answers import check_answers, check_lasting, document
from model.registrar_decisions import Decision, sha256
from model.registrar_records import check_addresses, check_decisions
from model.report import Report
from model.withdrawals import SOON, check_pushes
from tests.sample_registrar import SampleRegistrar

LAG = 10


class Topics(unittest.TestCase):
    def setUp(self):
        self.sample = SampleRegistrar()

    def kinds(self):
        report = verify_registry(self.sample.registry)
        check_decisions(self.sample.registry, report)
        return {kind for kind, _ in report.differences}

    def change(self, records, wanted, **members):
        """Changes members of the first record with such a value."""
        at = next(at for at, each in enumerate(records) if each.value and wanted(json.loads(each.value)))
        records[at] = records[at]._replace(value=compact(json.loads(records[at].value) | members))

    def test_what_is_right(self):
        self.assertEqual(self.kinds(), set())
        verdicts = {json.loads(each.value)["verdict"] for each in self.sample.verdicts}
        self.assertEqual(verdicts, {"created", "changed", "unchanged", "gone", "erased", "refused"})
        self.assertTrue(any(name == "since" for each in self.sample.subscriptions for name, _ in each.headers))

    def test_a_command_that_was_not_decided(self):
        del self.sample.verdicts[100]
        self.assertIn("verdicts are not those of the commands", self.kinds())

    def test_another_verdict(self):
        self.change(self.sample.verdicts, lambda each: each["verdict"] == "refused", verdict="unchanged")
        self.assertIn("a verdict is not what its command says", self.kinds())

    def test_a_device_that_is_missing(self):
        del self.sample.devices[50]
        self.assertIn("the records of devices are not what the commands say", self.kinds())

    def test_another_person_of_a_device(self):
        self.change(self.sample.devices, lambda each: "person" in each, person="nobody")
        self.assertIn("the records of devices are not what the commands say", self.kinds())

    def test_an_address_that_two_devices_have(self):
        claims = [each for each in self.sample.devices if each.value and json.loads(each.value)["address"]["state"] == "claimed"]
        self.sample.devices.remove(claims[0])
        self.assertIn("an address has two devices", self.kinds())

    def test_a_person_that_is_missing(self):
        del self.sample.people[3]
        self.assertIn("the records of people are not what the commands say", self.kinds())

    def test_an_erasure_that_is_missing(self):
        del self.sample.erasures[0]
        self.assertEqual(self.kinds(), {"the erasures are not those of the commands"})

    def test_a_logout_that_withdraws_nothing(self):
        del self.sample.control[0]
        self.assertEqual(self.kinds(), {"what is withdrawn is not what the commands say"})

    def test_another_audience_that_is_withdrawn(self):
        self.change(self.sample.control, lambda each: "audiences_sha256" in each, audiences_sha256=["0" * 64])
        self.assertEqual(self.kinds(), {"what is withdrawn is not what the commands say"})

    def test_a_subscription_that_stays(self):
        at = next(at for at, each in enumerate(self.sample.subscriptions) if each.value is None)
        del self.sample.subscriptions[at]
        self.assertIn("a command's subscriptions are not what it says", self.kinds())

    def test_a_rotation_that_would_be_a_joining(self):
        at = next(at for at, each in enumerate(self.sample.subscriptions) if len(each.headers) > 1)
        record = self.sample.subscriptions[at]
        self.sample.subscriptions[at] = record._replace(headers=record.headers[:1])
        self.assertEqual(self.kinds(), {"a command's subscriptions are not what it says"})

    def test_a_subscription_that_is_written_twice(self):
        self.sample.subscriptions.insert(20, self.sample.subscriptions[20])
        self.assertIn("a command has written a subscription twice", self.kinds())

    def test_a_subscription_of_no_command(self):
        record = self.sample.subscriptions[-1]
        self.sample.subscriptions.append(record._replace(headers=(("command", b"100000"),)))
        self.assertIn("subscriptions are of no command", self.kinds())

    def test_a_repeat_that_changes_something(self):
        values = [each.value for each in self.sample.commands]
        at = next(
            at
            for at, each in enumerate(self.sample.verdicts)
            if at and json.loads(each.value)["verdict"] == "unchanged" and values[at] == values[at - 1]
        )
        value = json.loads(self.sample.verdicts[at].value) | {"verdict": "changed"}
        self.sample.verdicts[at] = self.sample.verdicts[at]._replace(value=compact(value))
        self.assertIn("a repeat has changed something", self.kinds())

    def test_an_address_that_is_subscribed_for_two_devices(self):
        self.assertEqual(self.address_kinds(), set())
        self.change(self.sample.subscriptions, lambda each: each["audience"].startswith("place/"), app="com.example.other")
        self.assertEqual(self.address_kinds(), {"an address is subscribed for two devices"})

    def address_kinds(self):
        report = Report()
        check_addresses(self.sample.subscriptions, report)
        return {kind for kind, _ in report.differences}


class Answers(unittest.TestCase):
    def setUp(self):
        self.sample = SampleRegistrar()

    def kinds(self):
        report = Report()
        check_answers(self.sample.exchanges, self.sample.commands, self.sample.decisions, LAG, report)
        check_lasting(self.sample.exchanges, self.sample.registry, report)
        return {kind for kind, _ in report.differences}

    def first(self, *statuses):
        return next(each for each in self.sample.exchanges if each.status in statuses)

    def look(self, other, process="x", after=0.2):
        """A GET after that request, which shows what the request has told."""
        look = copy.copy(other)
        look.number, look.process, look.method, look.asked, look.status = 100_000, process, "GET", [], 200
        look.began = look.ended = other.ended + after
        self.sample.exchanges.append(look)
        return look

    def superseded(self):
        """A request whose answer a later one was the next to change, and that one."""
        told = {(each.resource, each.answer["revision"]): each for each in self.sample.exchanges if "revision" in each.answer}
        return next(
            (told[name, one], told[name, two])
            for name, history in self.sample.decisions.history.items()
            for (one, _), (two, _) in itertools.pairwise(history)
            if (name, one) in told and (name, two) in told and told[name, one].ended + LAG < told[name, two].ended
        )

    def test_what_is_right(self):
        self.assertEqual(self.kinds(), set())
        statuses = {each.status for each in self.sample.exchanges}
        self.assertEqual(statuses, {200, 201, 204, 404, 410})
        self.look(self.first(201))
        self.assertEqual(self.kinds(), set())

    def test_an_answer_that_is_not_the_verdict(self):
        for status in (200, 412, 409, 404, 422):
            with self.subTest(status=status):
                self.setUp()
                exchange = self.first(201)
                exchange.status = status
                self.assertIn("an answer is not the verdict", self.kinds())

    def test_a_refusal_that_is_told_as_done(self):
        exchange = self.first(204)
        exchange.status = 404
        self.assertIn("an answer is not the verdict", self.kinds())

    def test_what_was_not_recorded_and_is_in_the_log(self):
        exchange = self.first(201)
        exchange.status, exchange.answer = 503, {"code": "not-recorded"}
        self.assertEqual(self.kinds(), {"what was not recorded is in the log"})

    def test_what_nobody_knows_may_be_in_the_log_or_not(self):
        one, two = self.sample.exchanges[:2]
        for each in (one, two):
            each.status, each.answer = 503, {"code": "outcome-unknown"}
        one.number = 100_001
        self.assertEqual(self.kinds(), set())

    def test_what_was_recorded_and_is_not_in_the_log(self):
        exchange = self.first(201)
        exchange.status, exchange.answer = 202, {"command": exchange.number, "status": "recorded"}
        self.assertEqual(self.kinds(), set())
        exchange.number = 100_001
        self.assertEqual(self.kinds(), {"what was recorded is not in the log"})

    def test_what_was_decided_and_is_not_in_the_log(self):
        self.first(204).number = 100_001
        self.assertEqual(self.kinds(), {"an answer is of no command"})

    def test_a_credential_that_is_good_and_refused(self):
        exchange = self.first(201)
        exchange.number, exchange.status, exchange.answer = 100_001, 401, {"code": "bad-token"}
        self.assertEqual(self.kinds(), {"an answer is of no command"})

    def test_a_request_that_was_recorded_twice(self):
        record = self.sample.commands[-1]
        first = self.sample.exchanges[0]
        headers = (("traceparent", first.trace.encode()),)
        self.sample.commands[-1] = record._replace(value=self.sample.commands[0].value, headers=headers)
        self.assertIn("a request was recorded several times", self.kinds())

    def test_a_command_that_is_not_what_was_asked_for(self):
        exchange = self.first(201)
        exchange.asked = [exchange.asked[0] | {"locale": "fr"}]
        self.assertEqual(self.kinds(), {"a command is not what was asked for"})

    def test_a_person_who_is_erased_and_told_otherwise(self):
        for members in ({"devices": 7}, {"person": "nobody"}, {"erased_at": "2026-01-01T00:00:00.000Z"}):
            with self.subTest(members=members):
                self.setUp()
                exchange = next(each for each in self.sample.exchanges if "erased_at" in each.answer)
                exchange.answer |= members
                self.assertEqual(self.kinds(), {"an answer is not the verdict"})

    def test_a_secret_that_is_not_the_command_s(self):
        exchange = self.first(201)
        record = self.sample.commands[exchange.number]
        value = json.loads(record.value) | {"new_credential": sha256("a secret")}
        self.sample.commands[exchange.number] = record._replace(value=compact(value))
        self.assertEqual(self.kinds(), {"an answer is not the verdict"})
        exchange.answer["secret"] = "another secret"
        self.assertEqual(self.kinds(), {"an answer is not the verdict"})
        exchange.answer["secret"] = "a secret"
        self.assertEqual(self.kinds(), set())

    def test_what_has_to_be_refused_at_once(self):
        look = self.look(self.first(201))
        look.asked, look.status = 404, 404
        self.assertEqual(self.kinds(), set())
        look.status = 200
        self.assertEqual(self.kinds(), {"an answer is not allowed"})
        look.number, look.status = self.first(201).number, 404
        self.assertEqual(self.kinds(), {"what writes nothing is in the log"})

    def test_a_device_that_is_shown_to_whose_it_is_not(self):
        look = self.look(next(each for each in self.sample.exchanges if each.status == 201 and "person" in each.answer))
        look.author = {"by": f"user:{look.answer['person']}"}
        self.assertEqual(self.kinds(), set())
        look.author = {"by": "user:nobody"}
        self.assertEqual(self.kinds(), {"what was shown never was so"})
        look.author = {"by": f"device:{sha256('a secret')}"}
        self.assertEqual(self.kinds(), {"what was shown never was so"})

    def list_of(self, person):
        """A request about all devices of a person, after all others."""
        look = self.look(self.sample.exchanges[-1])
        look.path, look.status = f"/v1/people/{quote(person)}/devices", 200
        states = self.sample.decisions.devices.values()
        look.answer = {"items": [document(each) for each in states if each.get("person") == person]}
        return look

    def logged_in(self):
        return next(each["person"] for each in self.sample.decisions.devices.values() if "person" in each)

    def test_a_list_of_devices_that_is_not_the_person_s(self):
        person = self.logged_in()
        look = self.list_of(person)
        self.assertEqual(self.kinds(), set())
        look.answer = {"items": []}
        self.assertEqual(self.kinds(), {"what was shown is older than what was told"})
        look.path = "/v1/people/nobody/devices"
        self.assertEqual(self.kinds(), set())
        states = self.sample.decisions.devices.values()
        look.answer = {"items": [document(next(each for each in states if each.get("person") == person))]}
        self.assertEqual(self.kinds(), {"what was shown never was so"})

    def test_a_logout_from_everywhere_that_leaves_a_device(self):
        logout = self.list_of("nobody")
        logout.method, logout.status, logout.answer = "DELETE", 204, {}
        logout.asked = [{"device": "one"}, {"device": "two"}]
        self.assertEqual(self.kinds(), set())
        logout.path = f"/v1/people/{quote(self.logged_in())}/devices"
        self.assertEqual(self.kinds(), {"a person is logged in after the logout"})

    def test_an_import_of_which_a_line_is_not_recorded(self):
        exchange = self.first(201)
        exchange.method, exchange.path, exchange.status, exchange.answer = "POST", "/v1/devices:import", 202, {"recorded": 1}
        self.assertEqual(self.kinds(), set())
        exchange.asked = [*exchange.asked, exchange.asked[0] | {"device": "another"}]
        self.assertEqual(self.kinds(), {"what was recorded is not in the log"})
        exchange.answer = {"recorded": 2}
        self.assertEqual(self.kinds(), {"what was recorded is not in the log"})

    def test_a_line_that_is_refused_since_somebody_was_erased(self):
        exchange, erased = self.first(201), next(iter(self.sample.decisions.erasures.values()))
        exchange.method, exchange.path, exchange.status, exchange.ended = "POST", "/v1/devices:import", 202, 1e9
        exchange.answer = {"recorded": 1, "refused": [{"line": 2, "code": "person-erased"}]}
        exchange.asked = [*exchange.asked, exchange.asked[0] | {"device": "another"}]
        for person, kinds in ((erased, set()), ("nobody", {"a line is refused of which nobody was erased"})):
            exchange.body = b"{}\n" + json.dumps({"person": person}).encode()
            self.assertEqual(self.kinds(), kinds)

    def test_what_was_never_so(self):
        exchange = self.first(200)
        exchange.answer["locale"] = "fr"
        self.assertEqual(self.kinds(), {"what was shown never was so"})

    def test_a_process_that_shows_less_than_it_has_told(self):
        one, two = self.superseded()
        self.look(two).answer = one.answer
        self.assertEqual(self.kinds(), {"what was shown is older than what was told"})

    def test_another_process_may_show_it_a_little_later(self):
        one, two = self.superseded()
        self.look(two, "y", LAG / 2).answer = one.answer
        self.assertEqual(self.kinds(), set())
        self.look(two, "z", LAG * 2).answer = one.answer
        self.assertEqual(self.kinds(), {"what was shown is older than what was told"})

    def test_a_device_that_is_shown_after_its_end(self):
        told, gone = next(
            (one, two)
            for two in self.sample.exchanges
            for one in self.sample.exchanges
            if two.status == 204 and one.status == 201 and one.resource == two.resource and one.ended < two.began
        )
        look = self.look(gone)
        look.status, look.answer = 200, told.answer
        self.assertEqual(self.kinds(), {"what was shown is older than what was told"})

    def test_what_was_told_and_is_lost(self):
        revision = self.first(200).answer["revision"]
        self.sample.devices = [
            each for each in self.sample.devices if not each.value or json.loads(each.value)["revision"] != revision
        ]
        self.assertEqual(self.kinds(), {"what was told is lost"})


class Pushes(unittest.TestCase):
    """A push for `place/1`, of before a command that withdraws it, which was answered at the second 10."""

    def kinds(self, outcome, *times, command=5, audience="place/1", withdrawn=("place/1",)):
        decisions = SampleRegistrar(count=0).decisions
        decisions.decided[7] = Decision({"command": 7}, [], [], {}, {"address": withdrawn and set(withdrawn)})
        headers = {"message-id": "m", "command": str(command), "audience": audience}
        record = Record("dispatch", 0, 0, 0, b"address", b"{}", tuple((name, value.encode()) for name, value in headers.items()))
        requests = {("m", "address"): [Request(0, time, "fcm", "address", 200, "m") for time in times]}
        report = Report()
        check_pushes([record], {("m", "address"): outcome}, requests, {7: 10}, decisions, report)
        return {kind for kind, _ in report.differences}

    def test_what_is_right(self):
        self.assertEqual(self.kinds("cancelled"), set())
        self.assertEqual(self.kinds("accepted", 10_000 + SOON), set())
        # Of the next login, and of what stays.
        self.assertEqual(self.kinds("accepted", 20_000, command=7), set())
        self.assertEqual(self.kinds("accepted", 20_000, audience="channel/offers"), set())

    def test_a_push_after_the_answer_of_a_logout(self):
        late = {"a push is sent after its device was told to be logged out"}
        self.assertEqual(self.kinds("accepted", 9_000, 10_001 + SOON), late)
        self.assertEqual(self.kinds("accepted", 20_000, audience="channel/offers", withdrawn=None), late)

    def test_a_push_that_is_not_sent_though_nobody_withdraws_it(self):
        for members in ({"command": 7}, {"audience": "channel/offers"}):
            self.assertEqual(self.kinds("cancelled", **members), {"a push that nobody withdraws was not sent"})
        self.assertEqual(self.kinds("expired"), {"a push that nobody withdraws was not sent"})
