"""How a request or a broadcast comes out of its record: the envelopes of section 4, up to eight around one another."""

import base64
import binascii

from model.envelope import MAX_VALUE_BYTES
from model.json_text import as_text, parse, trimmed
from model.records import DeadLetter
from model.values import is_utf8

MAX_ENVELOPES = 8


def unwrapped(record, own):
    """The attributes of the CloudEvent, the headers, and the object inside all envelopes (section 4). An object with one of the
    members in `own` is no envelope."""
    if record.value is None:
        raise DeadLetter("null_value")
    if len(record.value) > MAX_VALUE_BYTES:
        raise DeadLetter("value_too_large")
    headers = {}
    for name, value in record.headers:
        if value is not None and is_utf8(value) and (text := trimmed(value.decode())):
            headers["content-type" if name.lower() == "content-type" else name] = text
    attributes = {name: headers.get("ce_" + name) for name in ("id", "source", "time")}
    is_structured = headers.get("content-type", "").lower().startswith("application/cloudevents")
    framed = record.value[:1] == b"\0" and len(record.value) > 5
    body = parse(record.value[5:] if framed else record.value)
    # One turn for each envelope, and one for what is inside.
    for _ in range(MAX_ENVELOPES + 1):
        if isinstance(body, str):
            body = parse(body.encode())
            continue
        if not isinstance(body, dict):
            break
        is_content = any(name in body for name in own)
        if is_structured or not is_content and "specversion" in body and ("data" in body or "data_base64" in body):
            attributes = {name: as_text(body.get(name)) for name in attributes}
            is_structured, body = False, _cloud_event_data(body)
        elif not is_content and "schema" in body and "payload" in body:
            body = body["payload"]
        else:
            return attributes, headers, body
    raise DeadLetter("not_an_event")


def _cloud_event_data(envelope):
    if envelope.get("data") is not None:
        return envelope["data"]
    try:
        return parse(base64.b64decode(envelope["data_base64"].encode(), validate=True))
    except (KeyError, AttributeError, binascii.Error):
        raise DeadLetter("not_an_event") from None
