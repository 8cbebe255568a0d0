"""Three made-up shops, each with events in a form of its own: settings alone bring them to accepted pushes for places and
customers (docs/your-events.md)."""

import collections
import datetime
import json
import pathlib
import sys

from generator.inputs import Input, compact, subscription_key
from harness.brokers import free_port
from harness.daemon import Daemon, wait_for_daemons
from harness.delivering import Sender
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import expect
from model.pushes import read_requests

ORDERS, PLACES, CUSTOMERS = 20, 3, 7
# No timer is due while a test runs.
DAY = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)).date().isoformat()


class Shop:
    """A shop's settings in files, its topics, and what its daemons give. `files` are the settings `events.…`."""

    def __init__(self, harness, name, settings, **files):
        self.harness, self.cluster = harness, harness.cluster()
        # Its folder and the end of its processes are those of any other world.
        world = harness.make_world(name)
        self.world, self.topics, self.folder = world, world.topics, world.folder
        self.stand_in = StandIn(harness.stand_in, self.folder / "providers", harness.seed)
        for file, content in files.items():
            path = self.folder / f"{file}.json"
            path.write_text(json.dumps(content))
            settings |= {f"events.{file}": f"@{path}"}
        self.config = str(self.folder / "carillon.properties")
        known = world.settings("a") | self.stand_in.settings()
        known |= {"topic.deliveries": f"{world.name}.deliveries", "dispatch.headers": "event-type", "delivery.reap": "off"}
        pathlib.Path(self.config).write_text("".join(f"{key}={value}\n" for key, value in (known | settings).items()))
        harness.command("topics", "create", "--config", self.config, "--partitions", "2", settings={})

    def subscribe(self, *audiences):
        """A device for each; its token says of whom."""
        self.cluster.produce(self.topics["subscriptions"], [self.subscription(each) for each in audiences])

    def subscription(self, audience):
        value = {"audience": audience, "token": f"token-of-{audience}", "platform": "fcm", "app": "com.example.shop"}
        return Input(subscription_key(audience, value["token"]), compact(value))

    def sent(self, events, expected):
        """Brings the events into the topic, and waits until so many pushes are accepted. The payloads by type and kind of
        audience, and how many of each were accepted."""
        self.cluster.produce(self.topics["events"], events)
        pipeline = Daemon("a", self.folder, {}, "earliest", self.harness.carillon)
        pipeline.arguments += ["--config", self.config]
        address = f"127.0.0.1:{free_port()}"
        sender = Sender("b", self.folder, {"http": address}, "earliest", self.harness.carillon)
        sender.arguments += ["--config", self.config, "--instance", "b", "--set", f"state.dir={self.folder / 'b'}"]
        both = [pipeline, sender]
        self.world.daemons += both
        try:
            for each in both:
                each.start()
            wait_for_daemons("all have ended", lambda: len(self.accepted()) >= expected, both)
            wait_for_daemons("all events are read", lambda: self.world.lag() == 0, both)
            for each in both:
                each.stop()
        finally:
            self.stand_in.end()
        return self.pushes()

    def accepted(self):
        return [each for each in read_requests(self.stand_in.log) if each.is_accepted]

    def pushes(self):
        accepted = collections.Counter((each.device, each.message) for each in self.accepted())
        found = collections.defaultdict(list)
        for record in self.cluster.read(self.topics["dispatch"]):
            headers = {name: value.decode() for name, value in record.headers}
            data = json.loads(record.value)["message"]["data"]
            kind = headers["audience"].partition("/")[0]
            expect("how often it was accepted", accepted.pop((record.key.decode(), headers["message-id"]), 0), 1)
            found[headers["event-type"], kind].append(json.loads(data["default"])["data"])
        expect("accepted and not written", dict(accepted), {})
        return found


def counts(found):
    return {key: len(payloads) for key, payloads in found.items()}


def audiences():
    return [f"place/{number}" for number in range(PLACES)], [f"user/{number}" for number in range(CUSTOMERS)]


@scenario("camelCase with orders inside: created, changed and delayed, for place and customer; what comes twice is sent once")
def camel_case(harness):
    shop = Shop(
        harness,
        "camel-case",
        {"audiences": "place/{place_id},user/{customer.customerId}"},
        members={
            "event_id": ["eventId"],
            "event_type": ["kind"],
            "new_status": ["status.to"],
            "previous_status": ["status.from"],
            "order": ["data.order"],
            "order.id": ["orderId"],
            "order.order_number": ["orderNo"],
            "order.place_id": ["store.storeId"],
            "order.shipping_info.slot.date": ["delivery.day"],
            "order.shipping_info.slot.start_time": ["delivery.from"],
            "order.shipping_info.slot.end_time": ["delivery.to"],
        },
        types={"order_delayed": {"names": ["OrderDelayed"], "members": ["delayMinutes"]}},
    )
    places, users = audiences()
    shop.subscribe(*places, *users)

    def event(number, kind, status=None, **order):
        order |= {"orderId": f"o-{number}", "orderNo": f"A-{number}", "store": {"storeId": number % PLACES}}
        order |= {"customer": {"customerId": number % CUSTOMERS}}
        body = {"eventId": f"{kind}-{number}", "kind": kind, "data": {"order": order}} | ({"status": status} if status else {})
        return Input(f"o-{number}".encode(), compact(body))

    slot = {"day": DAY, "from": "14:00", "to": "16:00"}
    events = [event(each, "order.created", delivery=slot) for each in range(ORDERS)]
    events += [event(each, "order.status.changed", {"from": "pending", "to": "picked"}) for each in range(ORDERS)]
    events += [event(each, "OrderDelayed", delayMinutes=20) for each in range(ORDERS)]
    found = shop.sent(events + events[:ORDERS], 6 * ORDERS)
    types = ("event_order_created", "event_order_status_changed", "event_order_delayed")
    expect("the pushes", counts(found), {(name, kind): ORDERS for name in types for kind in ("place", "user")})
    expect(
        "the fields of a created order",
        {(each["start_time"], each["end_time"], each["delivery_date"]) for each in found["event_order_created", "user"]},
        {("14:00", "16:00", DAY)},
    )
    expect(
        "visible ids",
        {each["visible_id"] for each in found["event_order_created", "place"]},
        {f"A-{each}" for each in range(ORDERS)},
    )
    changes = {(each["previous_status"], each["new_status"]) for each in found["event_order_status_changed", "user"]}
    expect("the changes", changes, {("pending", "picked")})
    expect("what a type of its own adds", {each["delayMinutes"] for each in found["event_order_delayed", "place"]}, {"20"})


@scenario(
    "names as Salesforce has them, in an envelope with a schema: the status before is what the state remembers", background=True
)
def salesforce(harness):
    shop = Shop(
        harness,
        "salesforce",
        {"audiences": "place/{place_id},user/{Customer__c}"},
        members={
            "event_type": ["Event_Type__c"],
            "occurred_at": ["CreatedDate"],
            "order.order_number": ["OrderNumber__c"],
            "order.place_id": ["Store__c"],
            "order.status": ["Status__c"],
            "order.shipping_info.slot.date": ["Delivery_Date__c"],
            "order.shipping_info.slot.start_time": ["Delivery_Start__c"],
            "order.shipping_info.slot.end_time": ["Delivery_End__c"],
        },
    )
    places, users = audiences()
    shop.subscribe(*places, *users)

    def event(number, kind, status):
        order = {"CreatedDate": now(), "Event_Type__c": kind, "OrderNumber__c": f"SO-{number}", "Status__c": status}
        order |= {"Store__c": str(number % PLACES), "Customer__c": str(number % CUSTOMERS), "Delivery_Date__c": DAY}
        order |= {"Delivery_Start__c": "9:00 AM", "Delivery_End__c": "11:00 AM"}
        return Input(f"SO-{number}".encode(), compact({"schema": "made-up", "payload": order}))

    events = [event(each, "ORDER_CREATED", "pending") for each in range(ORDERS)]
    events += [event(each, "ORDER_STATUS_CHANGED", "processing") for each in range(ORDERS)]
    found = shop.sent(events, 4 * ORDERS)
    types = ("event_order_created", "event_order_status_changed")
    expect("the pushes", counts(found), {(name, kind): ORDERS for name in types for kind in ("place", "user")})
    expect(
        "the fields",
        {(each["order_id"], each["start_time"], each["delivery_date"]) for each in found["event_order_created", "place"]},
        {(f"SO-{each}", "09:00", DAY) for each in range(ORDERS)},
    )
    changes = {(each["previous_status"], each["new_status"]) for each in found["event_order_status_changed", "user"]}
    expect("the changes", changes, {("pending", "processing")})


@scenario("an outbox of Debezium without places: its customers are notified, and nobody else", background=True)
def outbox(harness):
    shop = Shop(
        harness,
        "outbox",
        {"audiences": "user/{buyer.id}"},
        members={"order.id": ["purchase.uuid"], "order.status": ["purchase.state"]},
    )
    places, users = audiences()
    shop.subscribe(*places, *users)

    def event(number, kind, state):
        row = {"purchase": {"uuid": f"p-{number}", "state": state}, "buyer": {"id": str(number % CUSTOMERS)}}
        headers = (("id", f"{kind}-{number}".encode()), ("eventType", kind.encode()))
        # The router writes a column of JSON as a string of it.
        return Input(f"p-{number}".encode(), compact(json.dumps(row)), headers)

    events = [event(each, "shop.order.created", "pending") for each in range(ORDERS)]
    events += [event(each, "shop.order.status.changed", "completed") for each in range(ORDERS)]
    found = shop.sent(events + events[-ORDERS:], 2 * ORDERS)
    expect("the pushes", counts(found), {("event_order_created", "user"): ORDERS, ("event_order_status_changed", "user"): ORDERS})
    expect(
        "the orders",
        {(each["order_id"], each["place_id"]) for each in found["event_order_created", "user"]},
        {(f"p-{each}", "") for each in range(ORDERS)},
    )


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


if __name__ == "__main__":
    sys.exit(main("shops", __doc__, globals()))
