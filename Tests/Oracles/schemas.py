"""The project's JSON Schemas, behind the validator from PyPI."""

import json
import pathlib

import jsonschema
import referencing

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Schemas"
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in FOLDER.glob("*.schema.json")}
REGISTRY = referencing.Registry().with_resources(
    (schema["$id"], referencing.Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
VALIDATORS = {name: jsonschema.Draft202012Validator(schema, registry=REGISTRY) for name, schema in SCHEMAS.items()}


def complaint(name, value):
    """What the schema `name` says against a value; None where it accepts it."""
    error = jsonschema.exceptions.best_match(VALIDATORS[name].iter_errors(value))
    return error and f"{name}: {error.message} in {json.dumps(value, ensure_ascii=False)[:400]}"


def default_of(value):
    """What the app reads of a dispatch record's value."""
    data = value["message"]["data"] if "message" in value else value["payload"]
    return json.loads(data["default"])["data"]


def complaints(record, topic):
    """What the schemas of a topic say against a record that Carillon wrote to it. Dead letters: their headers alone."""
    headers = {name: value.decode() for name, value in record.headers if _is_ours(name, topic)}
    parts = [(f"{topic}.headers", headers)]
    if topic != "notifications.dead-letters":
        value = None if record.value is None else json.loads(record.value)
        parts += [(f"{topic}.key", record.key and record.key.decode()), (f"{topic}.value", value)]
        if topic == "notifications.dispatch":
            parts.append(("notification.payload", default_of(value)))
    if f"{topic}.headers" not in SCHEMAS:
        del parts[0]
        if headers:
            return [f"{topic} has headers: {headers}"]
    return [found for name, part in parts if (found := complaint(name, part))]


def _is_ours(name, topic):
    """A dead letter keeps the record's own headers, which may be anything; they have no schema."""
    return topic != "notifications.dead-letters" or name.startswith(("__connect.errors.", "x-error-code", "x-truncated"))
