import unittest
import zoneinfo

from model.envelope import event_type_of
from model.messages import message_id
from model.values import parse_date, parse_time, parse_time_slot

UTC = zoneinfo.ZoneInfo("UTC")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
ORDER = "742ba33c-0c02-43e7-80b0-eb795c14dc6f"


class Rules(unittest.TestCase):
    def test_message_ids_are_those_of_section_6(self):
        for tag, source, event_type, order, milliseconds, expected in (
            (
                "ce",
                ["/orders/uos", "4d47e190-0402-4048-bc2c-89dd54343cdc"],
                "event_order_created",
                ORDER,
                1725707721000,
                "msg-1725707721000-vsgxl8m52",
            ),
            (
                "kafka",
                ["orders.events.v1", "3", "4711"],
                "event_order_status_changed",
                ORDER,
                1725707721000,
                "msg-1725707721000-9puafbwzj",
            ),
            (
                "event",
                ["6f1c0b0e-3a52-4a57-9d0c-0d8f3f8d8a11"],
                "event_order_created",
                ORDER,
                1725707721000,
                "msg-1725707721000-n1ds8346t",
            ),
            ("kafka", ["orders.events.v1", "0", "0"], "event_order_created", "", 0, "msg-0-y11n5dk7h"),
        ):
            self.assertEqual(message_id(tag, source, event_type, order, milliseconds), expected)

    def test_times_of_section_5_2(self):
        for value, expected in (
            ("9:05", "09:05"),
            ("14:00:30.5", "14:00"),
            ("2:00 PM", "14:00"),
            ("12 a.m.", "00:00"),
            ("12pm", "12:00"),
            ("25:99", None),
            ("24:00", None),
            ("2025-07-07", None),
            ("2025-07-07T14:00:00.000+0000", "16:00"),
            ("2025-07-07 14:00", "14:00"),
            (1725714000000, "15:00"),
            ("1725714000", "15:00"),
            (True, None),
        ):
            self.assertEqual(parse_time(value, BERLIN), expected, value)
        self.assertEqual(parse_time("24:00", UTC, is_end=True), "23:59")

    def test_dates_of_section_5_2(self):
        for value, expected in (
            ("2025-07-07", "2025-07-07"),
            ("2025-02-30", None),
            ("07/07/2025", None),
            ("2025-07-07T23:30:00Z", "2025-07-08"),
            (1725714000, "2024-09-07"),
            (None, None),
        ):
            self.assertEqual(parse_date(value, BERLIN), expected, value)

    def test_time_slots_of_section_5_2(self):
        for value, expected in (
            ("14:00-16:00", ("14:00", "16:00")),
            ("2-4 PM", ("14:00", "16:00")),
            ("10-12 PM", ("10:00", "12:00")),
            ("9 AM to 1 PM", ("09:00", "13:00")),
            ("09:00 – 10:00", ("09:00", "10:00")),
            ("14:00", ("14:00", None)),
            ({"from": "8:00", "to": "24:00"}, ("08:00", "23:59")),
            (["8:00", "9:00"], ("08:00", "09:00")),
        ):
            self.assertEqual(parse_time_slot(value, UTC), expected, value)

    def test_event_types_in_every_spelling(self):
        for name, expected in (
            ("ORDER_CREATED", "order_created"),
            ("event_order_created", "order_created"),
            ("com.example.order.status.changed.v2", "order_status_changed"),
            ("order.ids_listed", "order_ids_listed"),
            ("reorder_created", None),
            ("ORDER_DELETED", None),
        ):
            self.assertEqual(event_type_of(name), expected, name)
