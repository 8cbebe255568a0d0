/** The members of an event that decide its push; the JSON has more. */
record OrderEvent(
        String event_id, String event_type, String occurred_at, String previous_status, String new_status, Order order) {

    record Order(
            String id, String order_number, String place_id, String order_date, Shipping shipping_info, Metadata metadata) {}

    record Shipping(Slot slot, Pickup pickup_details) {}

    record Slot(String date, String start_time, String end_time, String delivery_date) {}

    record Pickup(String time_slot) {}

    record Metadata(String delivery_slot_start, String delivery_slot_end) {}

    /** When an order is delivered: a date, and two times as HH:MM. */
    record Delivery(String date, String start, String end) {}

    /** From the slot, from Salesforce's members or from a drone's, whichever is there. */
    Delivery delivery() {
        Slot slot = order.shipping_info().slot();
        if (slot != null && slot.date() != null) {
            return new Delivery(slot.date(), slot.start_time(), slot.end_time());
        }
        String start = order.metadata().delivery_slot_start();
        if (start != null) {
            String end = order.metadata().delivery_slot_end();
            return new Delivery(start.substring(0, 10), start.substring(11, 16), end.substring(11, 16));
        }
        if (slot != null) {
            String[] times = order.shipping_info().pickup_details().time_slot().split("-");
            return new Delivery(slot.delivery_date(), times[0], times[1]);
        }
        return new Delivery(order.order_date(), "00:00", "23:59");
    }
}
