"""The subscriptions of the audiences of requests that are made."""

import collections
import json
import unittest

from generator.inputs import DAY_MS
from generator.subscriptions import SubscriptionChanges, device_audience, make_audiences
from model.records import Record
from model.subscriptions import Subscriptions

SEED = 20260303
NOW = 1_795_000_000_000
PLACES = [f"place-{number}" for number in range(40)]


class Audiences(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.audiences, cls.records = make_audiences(SEED, PLACES, 50, NOW)
        changes = SubscriptionChanges(SEED, PLACES, cls.records, cls.audiences, NOW)
        cls.changes = [changes.next() for _ in range(2_000)]
        cls.values = [json.loads(each.value) for each in [*cls.records, *cls.changes] if each.value and b"token" in each.value]

    def test_there_are_all_kinds_of_them_and_one_is_empty(self):
        self.assertEqual({each.partition("/")[0] for each in self.audiences}, {"user", "channel", "place", "device"})
        self.assertNotIn("user/nobody", {json.loads(each.value)["audience"] for each in self.records})
        self.assertIn("user/nobody", self.audiences)

    def test_only_a_device_itself_subscribes_to_its_own_audience(self):
        own = [each for each in self.values if each["audience"].startswith("device/")]
        self.assertGreater(len(own), 20)
        for each in own:
            self.assertEqual(each["audience"], device_audience(each["token"]))

    def test_a_device_of_several_audiences_is_another_app_in_each_kind(self):
        apps = collections.defaultdict(set)
        for each in map(json.loads, (record.value for record in self.records)):
            apps[each["token"]].add((each["audience"].partition("/")[0], each["app"]))
        self.assertTrue(any(len(found) > 1 for found in apps.values()))
        for found in apps.values():
            self.assertEqual(len({app for _, app in found}), len(found))

    def test_some_were_last_seen_too_long_ago_in_one_audience_and_recently_in_another(self):
        table = Subscriptions([Record("s", 0, at, 0, *each) for at, each in enumerate(self.records)])
        seen = collections.defaultdict(set)
        for audience in table.audiences():
            for device in table.at(audience):
                seen[device.token_hash].add(device.last_seen < NOW - 270 * DAY_MS)
        self.assertTrue(any(found == {True, False} for found in seen.values()))

    def test_new_audiences_of_single_devices_come_with_the_changes(self):
        new = {json.loads(each.value)["audience"] for each in self.changes if each.value and b"device/" in each.value}
        self.assertTrue(new)
        self.assertLessEqual(new, set(self.audiences))


if __name__ == "__main__":
    unittest.main()
