"""What a registrar has written wrong, and what a client was told wrong, is noticed."""

import copy
import json
import unittest

from generator.inputs import compact
from model.registrar import verify_registry
from model.registrar_answers import check_answers, check_lasting
from model.registrar_decisions import check_addresses, check_decisions
from model.report import Report
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
        check_lasting(self.sample.exchanges, self.sample.devices, report)
        return {kind for kind, _ in report.differences}

    def first(self, *statuses):
        return next(each for each in self.sample.exchanges if each.status in statuses)

    def look(self, other, process="x", after=0.2):
        """A GET after that request, which shows what the request has told."""
        look = copy.copy(other)
        look.number, look.process, look.method, look.asked = 100_000, process, "GET", None
        look.began = look.ended = other.ended + after
        self.sample.exchanges.append(look)
        return look

    def superseded(self):
        """A request whose answer a later one has changed, and that one."""
        told = [each for each in self.sample.exchanges if each.status in (200, 201)]
        return next(
            (one, two)
            for one in told
            for two in told
            if one.resource == two.resource and one.answer["revision"] < two.answer["revision"] and one.ended + LAG < two.ended
        )

    def test_what_is_right(self):
        self.assertEqual(self.kinds(), set())
        statuses = {each.status for each in self.sample.exchanges}
        self.assertEqual(statuses, {200, 201, 204})
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
        self.sample.commands[-1] = record._replace(headers=(("traceparent", first.trace.encode()),))
        self.assertIn("a request was recorded several times", self.kinds())

    def test_a_command_that_is_not_what_was_asked_for(self):
        exchange = self.first(201)
        exchange.asked = exchange.asked | {"locale": "fr"}
        self.assertEqual(self.kinds(), {"a command is not what was asked for"})

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
