"""The model and the generator know every case that the schemas list: a case that no generated input has is never compared."""

import json
import pathlib
import re
import unittest

from generator.events import Events, Mix
from generator.subscriptions import make_subscriptions, well_formed
from harness.rendering import has_text_headers
from model.envelope import EVENT_TYPES, event_type_of

ROOT = pathlib.Path(__file__).parents[3]
MODEL = ROOT / "Tests/EndToEnd/model"

# What no generated event can be: it depends on a setting, on the subscriptions or on the broker, or it takes 10,000 ids.
NOT_OF_AN_EVENT = {
    "missing_order_id",
    "too_many_order_ids",
    "too_many_devices",
    "too_many_bytes",
    "record_refused",
    "unreadable_batch",
    "transaction_timeout",
}


def words(file, member):
    """What a schema allows for a member, wherever it occurs in the schema."""

    def lists(node):
        if isinstance(node, dict):
            own = node.get(member)
            if isinstance(own, dict):
                # Where other words are allowed as well, the known ones come first.
                own = own.get("anyOf", [own])[0]
                if "enum" in own:
                    yield own["enum"]
            node = list(node.values())
        if isinstance(node, list):
            for each in node:
                yield from lists(each)

    return next(lists(json.loads((ROOT / f"Schemas/{file}.schema.json").read_text())))


def sample_platforms():
    lines = (ROOT / "Examples/subscriptions.jsonl").read_text().splitlines()
    return {json.loads(line)["platform"] for line in lines}


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        places, cls.subscriptions = make_subscriptions(1, places=50, crowd=5)
        events = Events(1, places, Mix())
        cls.events = [event for event in (events.next() for _ in range(2_000)) if has_text_headers(event)]

    def test_every_event_type_is_in_the_model_and_among_the_generated_events(self):
        types = words("notification.payload", "event_type")
        self.assertEqual(["event_" + each for each in EVENT_TYPES], types)
        names = set(re.findall(r"[A-Z]+(?:_[A-Z]+)+", " ".join(str(event.value) for event in self.events)))
        self.assertEqual({event_type_of(name) for name in names} - {None}, set(EVENT_TYPES))

    def test_every_provider_has_generated_subscriptions_and_sample_ones(self):
        platforms = set(words("notifications.subscriptions.value", "platform"))
        generated = {json.loads(each.value)["platform"] for each in well_formed(self.subscriptions) if each.value}
        self.assertEqual(generated, platforms)
        self.assertEqual(sample_platforms(), platforms)

    def test_every_code_that_a_record_alone_can_have_is_in_the_model(self):
        codes = set(words("notifications.dead-letters.headers", "x-error-code"))
        named = {word for file in MODEL.glob("*.py") for word in re.findall(r'"([a-z_0-9]+)"', file.read_text())}
        self.assertEqual(codes - named, NOT_OF_AN_EVENT)


if __name__ == "__main__":
    unittest.main()
