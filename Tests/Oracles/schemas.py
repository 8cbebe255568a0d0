"""The project's JSON Schemas, by the validator from PyPI."""

import json
import pathlib

import jsonschema
import referencing

from model.messages import payload_of

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Schemas"
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in FOLDER.glob("*.schema.json")}
REGISTRY = referencing.Registry().with_resources(
    (schema["$id"], referencing.Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
VALIDATORS = {name: jsonschema.Draft202012Validator(schema, registry=REGISTRY) for name, schema in SCHEMAS.items()}


def complaint(name, value):
    """What a value violates of the schema `name`; None where the schema accepts it."""
    error = jsonschema.exceptions.best_match(VALIDATORS[name].iter_errors(value))
    return error and f"{name}: {error.message} in {json.dumps(value, ensure_ascii=False)[:400]}"


def complaints(record, topic):
    """What a record that Carillon wrote violates of the schemas of its topic. Of dead letters only the headers have a schema."""
    headers = {name: value.decode() for name, value in record.headers if _is_ours(name, topic)}
    parts = [(f"{topic}.headers", headers)]
    if topic != "notifications.dead-letters":
        value = None if record.value is None else json.loads(record.value)
        parts += [(f"{topic}.key", record.key and record.key.decode()), (f"{topic}.value", value)]
        if topic == "notifications.dispatch" and is_of_order(value):
            parts.append(("notification.payload", payload_of(value)))
    if f"{topic}.headers" not in SCHEMAS:
        del parts[0]
        if headers:
            return [f"{topic} has headers: {headers}"]
    return [found for name, part in parts if (found := complaint(name, part))]


def is_of_order(value):
    """Whether the value of a dispatch record is about an order, and not what a request asked for."""
    return "default" in (value["message"].get("data", {}) if "message" in value else value.get("payload", {}))


def is_of_broadcast(value):
    """Whether the value of a dispatch record is a broadcast."""
    return "actiontype" in (value["message"].get("data", {}) if "message" in value else value.get("payload", {}))


def json_object(data):
    """The object of a JSON text; None where there is none."""
    try:
        value = json.loads(data or b"")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_ours(name, topic):
    """A dead letter keeps the record's own headers, which may be anything; they have no schema."""
    return topic != "notifications.dead-letters" or name.startswith(("__connect.errors.", "x-error-code", "x-truncated"))
