"""Schemas/asyncapi.yaml holds together, and the AsyncAPI models from PyPI accept it."""

import copy
import unittest
import warnings

import yaml
from schemas import FOLDER, SCHEMAS


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from references(each)


class AsyncAPI(unittest.TestCase):
    def setUp(self):
        self.document = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text())

    def is_valid(self, document):
        """What the AsyncAPI 3 models from PyPI say, Kafka bindings included. They do not follow references."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from asyncapi3.models import AsyncAPI3
            from pydantic import ValidationError
        try:
            AsyncAPI3.model_validate(document)
        except ValidationError:
            return False
        return True

    def test_it_is_an_AsyncAPI_document(self):
        self.assertEqual(self.document["asyncapi"], "3.0.0")
        self.assertTrue(self.is_valid(self.document))

    def test_a_wrong_one_is_refused(self):
        changes = {
            "no info": lambda d: d.pop("info"),
            "no title": lambda d: d["info"].pop("title"),
            "another version": lambda d: d.update(asyncapi="2.6.0"),
            "a member that there is not": lambda d: d["channels"]["journal"].update(topic="x"),
            "an action that there is not": lambda d: d["operations"]["sendJournal"].update(action="publish"),
            "an operation without a channel": lambda d: d["operations"]["sendJournal"].pop("channel"),
            "a cleanup policy that there is not": lambda d: d["channels"]["journal"]["bindings"]["kafka"][
                "topicConfiguration"
            ].update({"cleanup.policy": ["shrink"]}),
            "a binding's member that there is not": lambda d: d["components"]["messages"]["push"]["bindings"]["kafka"].update(x=1),
        }
        for name, change in changes.items():
            with self.subTest(name):
                document = copy.deepcopy(self.document)
                change(document)
                self.assertFalse(self.is_valid(document))

    def test_every_reference_leads_somewhere(self):
        for reference in references(self.document):
            with self.subTest(reference):
                if not reference.startswith("#/"):
                    self.assertTrue((FOLDER / reference).is_file())
                    continue
                target = self.document
                for part in reference[2:].split("/"):
                    target = target[part]

    def test_it_names_every_schema_and_every_channel_has_an_operation(self):
        named = {
            reference[2:].removesuffix(".schema.json") for reference in references(self.document) if reference.startswith("./")
        }
        # A payload is part of a push.
        self.assertEqual(named, SCHEMAS.keys() - {"notification.payload"})
        used = {operation["channel"]["$ref"].rpartition("/")[2] for operation in self.document["operations"].values()}
        self.assertEqual(used, self.document["channels"].keys())

    def test_every_message_says_what_its_key_its_headers_and_its_value_are(self):
        for name, message in self.document["components"]["messages"].items():
            with self.subTest(name):
                self.assertIn("payload", message)
                self.assertIn("key", message["bindings"]["kafka"])
                self.assertTrue("headers" in message or "without headers" in message.get("description", ""))


if __name__ == "__main__":
    unittest.main()
