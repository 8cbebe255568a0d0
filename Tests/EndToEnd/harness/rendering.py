"""What `carillon render` reads and writes: one line of JSON for each record, as `kcat -J` prints it."""

import base64
import json
import pathlib
import tempfile

from harness.waiting import Failure
from model.partitions import murmur2_partition
from model.records import Record
from model.values import is_utf8


def line_of(record):
    """The line of a record, with `payload_base64` where its bytes are no UTF-8."""
    line = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": "create",
        "ts": record.timestamp,
        "broker": 1,
    }
    if record.headers:
        line["headers"] = [
            part if part is None else part.decode() for name, value in record.headers for part in (name.encode(), value)
        ]
    for name, value in (("key", record.key), ("payload", record.value)):
        if value is None or is_utf8(value):
            line[name] = None if value is None else value.decode()
        else:
            line[name + "_base64"] = base64.b64encode(value).decode()
    return json.dumps(line, ensure_ascii=False)


def record_of(line, offset):
    """The record of a line, as if it were at this offset of a topic with one partition."""
    value = json.loads(line)

    def part(name):
        if name + "_base64" in value:
            return base64.b64decode(value[name + "_base64"])
        return None if value.get(name) is None else value[name].encode()

    names = value.get("headers") or []
    headers = tuple((name, None if each is None else each.encode()) for name, each in zip(names[::2], names[1::2]))
    key = part("key")
    return Record(value["topic"], murmur2_partition(key or b"", 1), offset, 0, key, part("payload"), headers)


def has_text_headers(each):
    """Whether the record can stand in a line, which has its headers as texts."""
    return all(value is None or is_utf8(value) for _, value in each.headers)


def render(harness, records, subscriptions, *arguments):
    """What `carillon render` prints for these records; `subscriptions` are values."""
    with tempfile.TemporaryDirectory(prefix="carillon-render.") as folder:
        table, events = pathlib.Path(folder, "subscriptions.jsonl"), pathlib.Path(folder, "events.jsonl")
        table.write_bytes(b"".join(each + b"\n" for each in subscriptions))
        events.write_text("".join(line_of(record) + "\n" for record in records), "utf-8")
        code, output, errors = harness.run("render", *arguments, "--subscriptions", table, events, timeout=120)
    if code != 0:
        raise Failure(f"carillon render ended with {code}: {errors[-2000:]}")
    return output


def records_of(output):
    """The records of what was printed; their offsets are the numbers of their lines."""
    return [record_of(line, at) for at, line in enumerate(output.split("\n")[:-1])]
