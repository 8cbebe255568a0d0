"""The verifier of deliveries must find what it is there to find: each test spoils a right run in one way."""

import collections
import json
import unittest

from model.deliveries import verify_deliveries, verify_one_outcome
from model.pushes import apns_id, lane_offset, push_of
from tests.sample_deliveries import RETRY, TOPIC, SampleDeliveries, changed


class VerifierOfDeliveries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = SampleDeliveries()

    def setUp(self):
        self.run_ = self.sample.run()
        self.by_message = {each.message: each for each in self.sample.pushes}

    def kinds(self):
        return {kind for kind, _ in verify_deliveries(self.run_).differences}

    def outcome(self, outcome, platform="fcm"):
        """The place of the first outcome of that kind in the list, and its value."""
        for at, record in enumerate(self.run_.deliveries):
            value = json.loads(record.value)
            if value["outcome"] == outcome and value["platform"] == platform:
                return at, value
        self.fail(f"there is no {outcome}")

    def change_outcome(self, found, **members):
        at, _ = self.outcome(found)
        self.run_.deliveries[at] = changed(self.run_.deliveries[at], **members)

    def change_request(self, at, **members):
        self.run_.requests[at] = self.run_.requests[at]._replace(**members)

    def first_request(self, condition):
        return next(at for at, each in enumerate(self.run_.requests) if condition(each))

    def add_request(self, request):
        self.run_.requests.append(request._replace(place=len(self.run_.requests)))

    def test_a_right_run_has_no_difference_and_every_outcome(self):
        report = verify_deliveries(self.run_)
        self.assertEqual(report.differences, [])
        for outcome in ("accepted", "expired", "dead_device", "refused", "gave_up"):
            self.assertGreater(report.counts[outcome], 0, outcome)
        self.assertGreater(report.counts["accepted again"], 5)

    def test_one_outcome_a_record(self):
        def kinds():
            return [kind for kind, _ in verify_one_outcome(TOPIC, self.run_.dispatch, self.run_.deliveries).differences]

        self.assertEqual(kinds(), [])
        self.run_.deliveries.append(changed(self.run_.deliveries[7], topic="other"))
        self.assertEqual(kinds(), [])
        self.run_.deliveries.append(self.run_.deliveries[7])
        self.assertEqual(kinds(), ["two outcomes"])
        self.run_.deliveries = [each for each in self.run_.deliveries if each != self.run_.deliveries[7]]
        self.assertEqual(kinds(), ["no outcome"])
        self.run_.deliveries[7] = changed(self.run_.deliveries[7], offset=99_999)
        self.assertEqual(kinds(), ["no outcome", "no outcome", "an outcome of no push"])

    def test_a_push_without_an_outcome(self):
        del self.run_.deliveries[7]
        self.assertEqual(self.kinds(), {"no outcome", "finished without an outcome"})

    def test_a_push_that_waits_needs_no_outcome_yet(self):
        at, value = self.outcome("accepted")
        del self.run_.deliveries[at]
        self.run_.waiting = [
            each._replace(topic=RETRY)
            for each in self.run_.dispatch
            if (each.partition, each.offset) == (value["partition"], value["offset"])
        ]
        self.assertEqual(self.kinds(), set())

    def test_two_outcomes(self):
        self.run_.deliveries.append(self.run_.deliveries[7])
        self.assertEqual(self.kinds(), {"two outcomes"})

    def test_an_outcome_of_no_push(self):
        self.run_.deliveries.append(changed(self.run_.deliveries[7], offset=99_999))
        self.assertEqual(self.kinds(), {"an outcome of no push"})

    def test_an_outcome_of_another_topic(self):
        self.change_outcome("accepted", topic="other")
        self.assertEqual(self.kinds(), {"an outcome of no push", "no outcome", "finished without an outcome"})

    def test_an_outcome_in_another_partition(self):
        self.run_.deliveries[7] = self.run_.deliveries[7]._replace(partition=self.run_.deliveries[7].partition + 1)
        self.assertEqual(self.kinds(), {"an outcome at a wrong place"})

    def test_an_outcome_with_another_key(self):
        self.run_.deliveries[7] = self.run_.deliveries[7]._replace(key=b"other")
        self.assertEqual(self.kinds(), {"an outcome at a wrong place"})

    def test_an_outcome_with_another_message(self):
        self.change_outcome("accepted", message_id="msg-1-a")
        self.assertEqual(self.kinds(), {"an outcome with other members"})

    def test_a_token_in_an_outcome(self):
        at, value = self.outcome("accepted")
        push = self.by_message[value["message_id"]]
        self.run_.deliveries[at] = changed(self.run_.deliveries[at], provider_note=push.token)
        self.assertEqual(self.kinds(), {"a token in an outcome"})

    def test_accepted_though_the_provider_did_not(self):
        _, value = self.outcome("accepted")
        at = self.first_request(lambda each: each.message == value["message_id"] and each.is_final)
        self.change_request(at, status=500, fault="internal", reason="INTERNAL")
        self.assertIn("accepted, but not by the provider", self.kinds())

    def test_accepted_by_an_answer_that_was_lost(self):
        _, value = self.outcome("accepted", "apns")
        at = self.first_request(lambda each: each.message == value["message_id"] and each.is_final)
        self.change_request(at, fault="hang")
        self.assertIn("accepted, but not by the provider", self.kinds())

    def test_accepted_with_another_name(self):
        self.change_outcome("accepted", provider_id="projects/p/messages/none")
        self.assertEqual(self.kinds(), {"accepted, but not by the provider"})

    def test_dead_though_the_provider_did_not_say_so(self):
        _, value = self.outcome("dead_device")
        at = self.first_request(lambda each: each.message == value["message_id"] and each.is_dead)
        self.change_request(at, status=403, fault="mismatch", reason="SENDER_ID_MISMATCH")
        self.assertEqual(self.kinds(), {"dead, but not by the provider"})

    def test_refused_though_the_provider_did_not(self):
        self.change_outcome("refused", reason="INVALID_ARGUMENT")
        self.assertEqual(self.kinds(), {"refused, but not by the provider"})

    def test_an_outcome_that_there_is_not(self):
        self.change_outcome("expired", outcome="lost")
        self.assertIn("an unknown outcome", self.kinds())

    def test_expired_too_early(self):
        at, value = self.outcome("expired")
        record = self.run_.deliveries[at]
        self.run_.deliveries[at] = record._replace(timestamp=self.by_message[value["message_id"]].expires - 1)
        self.assertEqual(self.kinds(), {"expired too early"})

    def test_given_up_too_early(self):
        at, value = self.outcome("gave_up")
        record = self.run_.deliveries[at]
        self.run_.deliveries[at] = record._replace(timestamp=self.by_message[value["message_id"]].expires - 11_001)
        self.assertEqual(self.kinds(), {"given up too early"})

    def test_cancelled_and_no_broadcast(self):
        self.change_outcome("expired", outcome="cancelled")
        self.assertEqual(self.kinds(), {"cancelled, and no broadcast"})

    def test_superseded_by_a_newer_push_with_its_key(self):
        _, value = self.outcome("gave_up")
        self.change_outcome("gave_up", outcome="superseded")
        self.assertEqual(self.kinds(), {"superseded by no newer push"})
        at = next(at for at, each in enumerate(self.run_.dispatch) if push_of(each).message == value["message_id"])
        older, partition = self.run_.dispatch[at], value["partition"]
        own = f'"collapse_key":"{value["message_id"]}"'.encode()
        older = older._replace(value=older.value.replace(own, b'"collapse_key":"k"', 1))
        headers = [(name, b"msg-newer" if name == "message-id" else each) for name, each in older.headers]
        newer = older._replace(offset=self.run_.ends[TOPIC, partition], headers=headers)
        self.run_.dispatch[at] = older
        self.run_.dispatch.append(newer)
        self.run_.waiting.append(newer)
        for at, each in enumerate(self.run_.requests):
            if each.message == value["message_id"]:
                self.change_request(at, collapse="k", body=push_of(older).body)
        self.assertEqual(self.kinds(), set())

    def test_given_up_for_a_reason_that_nobody_gave(self):
        self.change_outcome("gave_up", reason="QUOTA_EXCEEDED")
        self.assertEqual(self.kinds(), {"a reason that nobody gave"})

    def test_given_up_without_a_reason(self):
        self.change_outcome("gave_up", reason=None)
        self.assertEqual(self.kinds(), {"given up without a reason"})
        # It has only waited.
        self.change_outcome("gave_up", reason=None, attempts=0)
        self.assertEqual(self.kinds(), set())

    def test_given_up_after_a_page_of_html(self):
        _, value = self.outcome("gave_up")
        at = self.first_request(lambda each: each.message == value["message_id"])
        self.change_request(at, status=502, fault="html", reason="html")
        self.assertEqual(self.kinds(), {"a reason that nobody gave"})
        self.change_outcome("gave_up", reason="http_502")
        self.assertEqual(self.kinds(), set())

    def test_expired_for_a_reason_that_nobody_gave(self):
        self.change_outcome("expired", reason="no_answer:reset")
        self.assertEqual(self.kinds(), set())
        for reason in ("UNAVAILABLE", "no_answer:weather"):
            self.change_outcome("expired", reason=reason)
            self.assertEqual(self.kinds(), {"a reason that nobody gave"})

    def test_given_up_after_an_answer(self):
        _, value = self.outcome("gave_up")
        at = self.first_request(lambda each: each.message == value["message_id"])
        self.change_request(at, status=200, fault=None)
        self.assertEqual(self.kinds(), {"given up after an answer", "a reason that nobody gave"})
        # Its connection may have been cut off before that.
        self.change_outcome("gave_up", reason="no_answer:reset")
        self.assertEqual(self.kinds(), set())

    def test_given_up_after_an_answer_that_came_to_nobody(self):
        _, value = self.outcome("gave_up")
        at = self.first_request(lambda each: each.message == value["message_id"])
        request = self.run_.requests[at]
        self.change_request(at, status=200, fault=None)
        again = request._replace(time=request.time + 1, status=429, fault="quota", reason="QUOTA_EXCEEDED")
        requests = [*self.run_.requests[: at + 1], again, *self.run_.requests[at + 1 :]]
        self.run_.requests = [each._replace(place=place) for place, each in enumerate(requests)]
        self.run_.possibly_twice += 1
        self.change_outcome("gave_up", reason="QUOTA_EXCEEDED")
        self.assertEqual(self.kinds(), set())

    def test_expired_though_it_was_sent(self):
        at, _ = self.outcome("accepted")
        record = self.run_.deliveries[at]
        late = changed(record, outcome="expired", provider_id=None, status=None)
        push = self.by_message[json.loads(record.value)["message_id"]]
        self.run_.deliveries[at] = late._replace(timestamp=push.expires + 1)
        self.assertEqual(self.kinds(), {"expired, but sent"})
        # Unless a process died before it had committed that.
        self.run_.disturbances = [(record.timestamp, record.timestamp)]
        self.assertEqual(self.kinds(), set())

    def test_sent_after_its_expiry(self):
        _, value = self.outcome("accepted")
        push = self.by_message[value["message_id"]]
        request = self.run_.requests[self.first_request(lambda each: each.message == push.message and each.is_final)]
        self.run_.disturbances = [(0, push.expires * 2)]
        self.run_.possibly_twice += 1
        self.add_request(request._replace(time=push.expires + self.run_.tolerance + 1, lifetime="0s"))
        self.assertEqual(self.kinds(), {"sent after its expiry"})

    def test_a_lifetime_beyond_the_expiry(self):
        at = self.first_request(lambda each: each.provider == "fcm" and each.lifetime != "0s")
        left = int(self.run_.requests[at].lifetime.removesuffix("s"))
        self.change_request(at, lifetime=f"{left + 2}s")
        self.assertEqual(self.kinds(), {"another lifetime"})

    def test_a_lifetime_that_is_too_short(self):
        at = self.first_request(lambda each: each.provider == "fcm" and int(each.lifetime.removesuffix("s")) > 3)
        left = int(self.run_.requests[at].lifetime.removesuffix("s"))
        self.change_request(at, lifetime=f"{left - 2}s")
        self.assertEqual(self.kinds(), {"another lifetime"})

    def test_another_expiration_at_apns(self):
        self.change_request(self.first_request(lambda each: each.provider == "apns"), lifetime="1")
        self.assertEqual(self.kinds(), {"another lifetime"})

    def hurry_after_advice(self):
        """A push that APNs has answered with 503 is tried again a millisecond too early; returns the first try."""
        failed = self.run_.requests[self.first_request(lambda each: each.provider == "apns" and each.status == 503)]
        again = self.first_request(lambda each: each.message == failed.message and each.place > failed.place)
        self.change_request(again, time=failed.time + self.run_.longest_wait - 1)
        return failed

    def test_tried_again_before_apns_advises(self):
        failed = self.hurry_after_advice()
        self.assertEqual(self.kinds(), {"tried again before APNs advises"})
        # Whoever takes its partition over does not know of the attempt.
        self.run_.disturbances = [(failed.time, failed.time)]
        self.assertEqual(self.kinds(), set())

    def test_tried_again_since_the_advice_was_lost(self):
        failed = self.hurry_after_advice()
        # Another request on the connection, with which it was cut.
        self.run_.requests.append(self.run_.requests[0]._replace(provider="apns", time=failed.time + 100, fault="reset"))
        self.assertNotIn("tried again before APNs advises", self.kinds())
        # One that was cut before it was answered has not carried the answer.
        self.run_.requests[-1] = self.run_.requests[-1]._replace(time=failed.time - 500)
        self.assertIn("tried again before APNs advises", self.kinds())

    def test_tried_again_since_the_advice_was_lost_at_one_of_so_many_requests(self):
        failed = self.hurry_after_advice()
        count = sum(each.provider == "apns" for each in self.run_.requests[: self.run_.requests.index(failed) + 1])
        # The request after it is the one of so many.
        self.run_.cut_offs = [(count + 1, failed.time, failed.time)]
        self.assertEqual(self.kinds(), set())
        # Not before that was asked for, and not two requests later.
        for every, first in ((count + 1, failed.time + 1), (count + 3, failed.time)):
            self.run_.cut_offs = [(every, first, first)]
            self.assertEqual(self.kinds(), {"tried again before APNs advises"})

    def test_another_message(self):
        self.change_request(10, body="0" * 16)
        self.assertEqual(self.kinds(), {"another message"})

    def test_another_id_when_it_is_sent_again(self):
        again = collections.Counter()
        for at, each in enumerate(self.run_.requests):
            again[each.message] += 1
            if again[each.message] == 2 and each.provider == "apns" and each.status != 200:
                break
            if again[each.message] == 2 and each.provider == "fcm":
                self.change_request(at, collapse="other")
                break
        self.assertEqual(self.kinds(), {"another id"})

    def test_another_apns_id(self):
        at = self.first_request(lambda each: each.provider == "apns" and each.status == 410)
        self.change_request(at, id="00000000-0000-4000-8000-000000000000")
        self.assertEqual(self.kinds(), {"another id"})

    def test_a_request_that_nobody_asked_for(self):
        self.add_request(self.run_.requests[0]._replace(message="msg-1-nothing"))
        self.assertEqual(self.kinds(), {"a request for no push"})

    def test_sent_to_the_other_provider(self):
        at = self.first_request(lambda each: each.provider == "fcm")
        self.change_request(at, provider="apns")
        self.assertIn("sent to the other provider", self.kinds())

    def pair(self):
        """The last two requests for a device: of two pushes, both accepted at once, with hours until they expire."""
        by_device = collections.defaultdict(list)
        for each in self.run_.requests:
            by_device[each.device].append(each)
        for requests in by_device.values():
            last = requests[-2:]
            messages = {each.message for each in last}
            is_plain = len(messages) == 2 and all(each.is_final and each.is_accepted for each in last)
            counts = [sum(each.message == message for each in requests) for message in messages]
            if is_plain and counts == [1, 1] and all(self.by_message[each].expires - last[1].time > 3e6 for each in messages):
                return last
        self.fail("no device has two")

    def test_a_newer_push_before_an_older_one(self):
        older, newer = self.pair()
        # They change places in the log.
        self.change_request(
            older.place, **{name: getattr(newer, name) for name in ("message", "id", "collapse", "lifetime", "body")}
        )
        self.change_request(
            newer.place, **{name: getattr(older, name) for name in ("message", "id", "collapse", "lifetime", "body")}
        )
        self.assertIn("an older push after a newer one", self.kinds())

    def test_a_newer_push_while_an_older_one_waits(self):
        older, newer = self.pair()
        self.change_request(older.place, status=503, fault="unavailable", reason="UNAVAILABLE")
        self.add_request(older._replace(time=newer.time + 1_000))
        self.assertIn("an older push after a newer one", self.kinds())

    def test_a_newer_push_after_an_older_one_was_given_up_and_that_was_not_committed(self):
        older, newer = self.pair()
        push = self.by_message[older.message]
        requests = [each for each in self.run_.requests if each.message != older.message]
        self.run_.requests = [each._replace(place=place) for place, each in enumerate(requests)]
        at = next(at for at, each in enumerate(self.run_.deliveries) if json.loads(each.value)["message_id"] == older.message)
        ended = changed(self.run_.deliveries[at], outcome="expired", provider_id=None, status=None)
        self.run_.deliveries[at] = ended._replace(timestamp=push.expires)
        self.run_.give_up = newer.time - push.timestamp
        self.assertEqual(self.kinds(), {"a newer push before an older one"})
        self.run_.disturbances = [(newer.time, newer.time)]
        self.assertEqual(self.kinds(), set())
        # Not before its time.
        self.run_.give_up += 1
        self.assertEqual(self.kinds(), {"a newer push before an older one"})

    def test_a_newer_push_after_an_older_one_whose_next_attempt_would_have_come_too_late(self):
        older, newer = self.pair()
        push = self.by_message[older.message]
        self.change_request(older.place, status=429, fault="quota", reason="QUOTA_EXCEEDED")
        at = next(at for at, each in enumerate(self.run_.deliveries) if json.loads(each.value)["message_id"] == older.message)
        ended = changed(self.run_.deliveries[at], outcome="expired", provider_id=None, status=None)
        self.run_.deliveries[at] = ended._replace(timestamp=push.expires)
        self.run_.longest_wait = push.expires - older.time
        self.assertEqual(self.kinds(), {"a newer push before an older one", "expired, but sent"})
        # It was given up by a process that died before it had committed that.
        self.run_.disturbances = [(newer.time, newer.time)]
        self.assertEqual(self.kinds(), set())
        self.run_.longest_wait -= 1
        self.assertEqual(self.kinds(), {"a newer push before an older one"})

    def test_a_newer_push_though_the_older_one_has_only_failed(self):
        older, _ = self.pair()
        self.change_request(older.place, status=503, fault="unavailable", reason="UNAVAILABLE")
        self.assertEqual(self.kinds(), {"a newer push before an older one", "accepted, but not by the provider"})

    def test_both_are_sent_again_by_whoever_takes_over(self):
        older, newer = self.pair()
        for each in (older, newer):
            self.add_request(each._replace(time=newer.time + 900, lifetime=self.later(each, newer.time + 900)))
        self.run_.possibly_twice += 2
        self.assertEqual(self.kinds(), {"an older push after a newer one"})
        self.run_.disturbances = [(newer.time + 100, newer.time + 200)]
        self.assertEqual(self.kinds(), set())

    def later(self, request, time):
        push = self.by_message[request.message]
        return push.lifetime or f"{(push.expires - time) // 1000}s"

    def test_more_is_sent_twice_than_is_said(self):
        self.run_.possibly_twice -= 1
        self.assertEqual(self.kinds(), {"more sent twice than said"})
        # A process that has ended could not say so at its end.
        accepted = [each for each in self.run_.requests if each.is_accepted]
        seen = {each.message: each for each in accepted}
        twice = next(each.message for each in accepted if seen[each.message] is not each)
        self.run_.unsaid = [(seen[twice].time, seen[twice].time)]
        self.assertEqual(self.kinds(), set())

    def test_a_lane_that_is_not_at_the_end(self):
        self.run_.commits["fcm"][TOPIC, 1] = (3, "v2 n=4 s=0")
        self.assertEqual(self.kinds(), {"not at the end"})

    def test_a_retry_topic_that_is_not_at_its_end(self):
        self.run_.commits["apns"][RETRY, 1] = (8, "v2 n=4 s=0")
        self.assertEqual(self.kinds(), {"not at the end"})

    def test_an_end_that_is_not_clean(self):
        self.run_.commits["apns"][TOPIC, 1] = (self.run_.ends[TOPIC, 1], "v2 n=4 s=1")
        self.assertEqual(self.kinds(), {"not clean at the end"})

    def test_metadata_that_is_not_a_lanes(self):
        self.run_.commits["apns"][TOPIC, 1] = (self.run_.ends[TOPIC, 1], "reset by hand")
        self.assertEqual(self.kinds(), {"no offset of a sender"})

    def test_finished_by_a_bit_without_an_outcome(self):
        at, value = self.outcome("accepted")
        del self.run_.deliveries[at]
        partition, offset = value["partition"], value["offset"]
        # The bit of the offset itself is the second.
        self.run_.commits["fcm"][TOPIC, partition] = (offset - 1, "v2 n=4 s=0 d=Ag")
        self.assertEqual(self.kinds(), {"no outcome", "finished without an outcome", "not at the end"})
        self.run_.commits["fcm"][TOPIC, partition] = (offset - 1, "v2 n=4 s=0 d=BA")
        self.assertEqual(self.kinds(), {"no outcome", "not at the end"})


class Values(unittest.TestCase):
    def test_the_id_at_apns(self):
        # As Tests/SenderTests/Message has it.
        self.assertRegex(apns_id("msg-1-a", "0" * 64), "^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")

    def test_an_offset_of_a_lane(self):
        found = lane_offset(100, "v2 n=6 s=9 d=BQE new=word")
        self.assertEqual((found.partitions, found.sent_below, found.is_clean), (6, 109, False))
        finished = [offset for offset in range(95, 120) if found.has_finished(offset)]
        self.assertEqual(finished, [95, 96, 97, 98, 99, 100, 102, 108])
        self.assertIsNone(lane_offset(1, ""))


if __name__ == "__main__":
    unittest.main()
