import CarillonTesting
import Notifications

/// An event of an order at a record time, in milliseconds; its event time is the same unless it says another one.
package func event(
    _ order: String, _ type: String = "ORDER_CREATED", status: String? = nil, slot: String? = nil, at time: WallTime,
    occurred: WallTime? = nil, id: String? = nil, place: String = "p1", extra: String? = nil, orderExtra: String? = nil
) -> SampleRecord {
    .order(
        order, type, place: place, status: status, slot: slot, eventID: id, at: time,
        occurred: occurred, eventMembers: extra, orderMembers: orderExtra)
}

extension SampleRecord {
    /// Of its timestamp.
    package var time: WallTime { timestamp ?? .epoch }
}
