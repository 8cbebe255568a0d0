"""Speaks to the HTTP API by the client that openapi-python-client has generated: python speak.py URL KEY.

It runs in the environment of the requirements.txt beside it, with the folder of the generated package on the path.
"""

import sys

import http_sf
from generated import AuthenticatedClient
from generated.api.default import explain, get_request, post_request, put_request, summarize_deliveries
from generated.models import (
    App,
    AppData,
    DeliverySummary,
    DryRun,
    Message,
    Problem,
    PutRequestDryRun,
    Recorded,
    Request,
    RequestStatus,
)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, expected {expected}")


def request(**members):
    data = AppData()
    data["type"] = "NewBill"
    return Request(**{"audience": "user/17", "app": App(title="New bill", body="23.40 €", data=data)} | members)


def refused(answer, status, code, *pointers):
    expect(f"the status of {answer.parsed}", int(answer.status_code), status)
    expect("its type", type(answer.parsed), Problem)
    expect("its code", answer.parsed.code.value, code)
    expect("its places", [each.pointer for each in answer.parsed.errors or []], list(pointers))


def main(url, key):
    client = AuthenticatedClient(url, key)
    put = lambda name, body: put_request.sync_detailed(name, client=client, body=body)  # noqa: E731
    first = put("bill/1", request())
    expect("a PUT", (int(first.status_code), type(first.parsed), first.parsed.request_id), (202, Recorded, "bill/1"))
    again = put("bill/1", request(request_id="bill/1"))
    expect("the same again", (int(again.status_code), again.parsed), (200, first.parsed))
    expect("what is null is not there", int(put("bill/0", request(message=None)).status_code), 202)
    refused(put("bill/1", request(collapse_key="x")), 409, "other-content")
    refused(put("bill/2", request(audience="team/7")), 422, "bad_request", "/audience")
    refused(put("bill/2", request(app=None, message=Message(badge=-1))), 422, "bad_request", "/message/badge", "/message")
    found = get_request.sync_detailed("bill/1", client=client).parsed
    expect("a GET", (type(found), found.status.value, found.record), (RequestStatus, "recorded", first.parsed.record))
    refused(get_request.sync_detailed("bill/2", client=client), 404, "not-found")
    place = found.record.partition("/")[2].replace("/", "-")
    seen = get_request.sync_detailed("bill/1", client=client, record=place).parsed
    expect("a GET by the record", (seen.status.value, seen.record), ("recorded", found.record))
    refused(get_request.sync_detailed("bill/2", client=client, record=place), 404, "not-found")
    dry = put_request.sync_detailed("bill/2", client=client, body=request(), dry_run=PutRequestDryRun.VALUE_0).parsed
    expect("a dry run", (type(dry), [each.platform for each in dry.messages]), (DryRun, ["fcm", "apns"]))
    refused(explain.sync_detailed(client=client, order="nobody's"), 404, "not-found")
    refused(explain.sync_detailed(client=client), 400, "bad-path")
    outcomes = summarize_deliveries.sync_detailed(client=client).parsed
    expect("the outcomes", (type(outcomes), outcomes.total.outcomes), (DeliverySummary, 0))
    post = lambda key, body: post_request.sync_detailed(client=client, body=body, idempotency_key=key)  # noqa: E731
    named = post('"bill/3"', request())
    expect("a POST", (int(named.status_code), named.headers["Location"]), (202, "/v1/requests/bill%2F3"))
    expect("the same again", int(post("bill/3", request()).status_code), 200)
    refused(post("bill/3", request(collapse_key="x")), 422, "idempotency-key-reused")
    refused(post("a b", request()), 400, "bad-header")
    refused(put_request.sync_detailed("x", client=AuthenticatedClient(url, "x"), body=request()), 401, "unknown-key")

    read = lambda name: http_sf.parse(first.headers[name].encode(), tltype="list")  # noqa: E731
    (policy, allowed), (limit, left) = read("RateLimit-Policy")[0], read("RateLimit")[0]
    expect("the name of the limit", limit, policy)
    if not (0 < left["r"] <= allowed["q"] and left["t"] >= 0 and allowed["w"] > 0):
        sys.exit(f"RateLimit: {left}, RateLimit-Policy: {allowed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
