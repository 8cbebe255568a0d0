"""Where `supersede` is on, only the newest push of each order in a transaction may be sent."""

import json
import unittest

from generator.inputs import subscription
from model import rules
from model.orders import Orders
from model.records import Record, Settings
from model.subscriptions import Subscriptions
from model.verify import Run, verify
from tests.sample_run import START_MS, journal_records, push


class Superseding(unittest.TestCase):
    """Three changes of one order, and one of another; what may be sent of them follows from the transactions."""

    SETTINGS = Settings("Europe/Berlin", superseding=frozenset({"order_status_changed"}))

    def kinds(self, sent, *ends):
        """The differences where the events at these offsets are sent, by transactions that end at `ends`."""
        table = [Record("subscriptions", 0, 0, 0, *subscription("42", "t", environment="production"))]
        records = [
            self.record(at, order, status)
            for at, (order, status) in enumerate((("1", "picking"), ("2", "picking"), ("1", "packed"), ("1", "picked")))
        ]
        state, dispatch = Orders(self.SETTINGS), []
        (device,) = Subscriptions(table).at("place/42")
        for record in records:
            (notification,) = rules.outcome_of(record, self.SETTINGS, state).notifications
            if record.offset in sent:
                pushed = push(notification, device, record)
                dispatch.append(Record("dispatch", 0, len(dispatch), 0, *pushed))
        journal = [
            {
                "ranges": [{"topic": "orders.events", "partition": 0, "from": first, "to": last}],
                "rules": "abc",
                "table": [1],
                "watermarks": [{"partition": 0, "before": 1, "after": 1}],
                "clock": START_MS,
            }
            for first, last in zip((0, *ends), ends)
        ]
        run = Run(
            settings=self.SETTINGS,
            events=records,
            subscriptions=table,
            dispatch=dispatch,
            dead_letters=[],
            journal=journal_records(journal),
            dispatch_partitions=1,
            starts={("orders.events", 0): 0},
            ends={("orders.events", 0): 4},
        )
        report = verify(run)
        return {kind for kind, _ in report.differences}

    def record(self, offset, order, status):
        event = {
            "event_id": f"e{offset}",
            "event_type": "ORDER_STATUS_CHANGED",
            "order": {"id": order, "place_id": "42", "status": status},
        }
        return Record("orders.events", 0, offset, START_MS + offset, order.encode(), json.dumps(event).encode())

    def test_of_one_transaction_the_newest_push_of_each_order(self):
        self.assertEqual(self.kinds({1, 3}, 4), set())

    def test_another_transaction_supersedes_nothing(self):
        self.assertEqual(self.kinds({1, 2, 3}, 3, 4), set())

    def test_a_superseded_push_that_was_sent(self):
        self.assertEqual(self.kinds({0, 1, 3}, 4), {"unexpected push (I2)"})

    def test_a_push_that_was_left_out_for_one_of_another_transaction(self):
        self.assertEqual(self.kinds({1, 3}, 3, 4), {"lost push (I1, I4)"})
