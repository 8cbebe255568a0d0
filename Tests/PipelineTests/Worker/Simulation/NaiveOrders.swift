import Digests
import NotificationPayload
import Notifications

/// What an event says, besides its bytes.
struct EventFacts {
    var order: String
    var type: EventType
    var status: String?
    /// When its slot starts.
    var start: WallTime?
    var id: String?
    var occurred: WallTime
}

/// The rules of orders and timers in the plainest way: dictionaries, no expiry, one partition after the other. It shares
/// no line with what it checks.
struct NaiveOrders {
    struct Push {
        var order: String
        var text: String
    }

    private struct Order {
        var status: String?
        var slot: WallTime?
        /// Since which record, in seconds, the slot starts then.
        var slotSince: Int64 = 0
        var identities: [String] = []
        var endedAt: WallTime?

        /// When the start and the reminders are due, but for those that were over when the slot was set.
        var dues: [(number: Int, due: WallTime)] {
            guard let slot else { return [] }
            return (0..<4).map { ($0, slot + Int64($0) * 900_000) }.filter { $0.1.milliseconds / 1000 > slotSince }
        }
    }

    private struct Timer {
        var order: String
        var number: Int
        var due: WallTime
        var hash: String
    }

    /// W and p, as they are stored.
    struct Watermark: Equatable {
        var w: WallTime
        var p: String?

        /// Whether a timer was sent, or never will be: it is due by W, or of the split instant with a hash of at most p.
        func isBehind(_ due: WallTime, _ hash: String) -> Bool {
            if let p, due == w + 1 { return hash <= p }
            return due <= w
        }
    }

    private var orders: [String: Order] = [:]
    private var watermark: Watermark
    private let maxLateness: Int64

    init(watermark: WallTime, maxLateness: Int64) {
        self.watermark = Watermark(w: watermark)
        self.maxLateness = maxLateness
    }

    static let mostOrders = 15
    private static let hashes = Dictionary(
        uniqueKeysWithValues: (0..<mostOrders).map { ("o\($0)", SHA256.hex(of: "o\($0)", digits: 16)) })

    // MARK: Events

    /// - Returns: what it notifies of.
    mutating func fold(_ event: EventFacts, at timestamp: WallTime) -> Push? {
        var order = orders[event.order] ?? Order()
        defer { orders[event.order] = order }
        var isKnown = false
        if let id = event.id {
            isKnown = order.identities.contains(id)
            order.identities = Array(([id] + order.identities.filter { $0 != id }).prefix(8))
        }
        let end = order.endedAt
        let ends = ["cancelled", "failed", "completed", "collected"].contains(event.status ?? "")
        if ends { order.endedAt = event.occurred }
        if isKnown { return nil }
        let previous = order.status
        if end == nil || event.occurred >= end! {
            order.status = event.status ?? order.status
            let slot = ends ? nil : event.start ?? order.slot
            if slot != order.slot {
                order.slot = slot
                order.slotSince = timestamp.milliseconds / 1000
            }
        }
        switch event.type {
        case .orderStatusChanged where previous == event.status: return nil
        case .orderStatusChanged:
            return Push(order: event.order, text: "event_order_status_changed \(previous ?? "unknown")")
        case .orderCreated: return Push(order: event.order, text: "event_order_created ")
        default: return nil
        }
    }

    // MARK: Timers

    /// A tick at `until`, or a slice of it.
    mutating func fire(
        reaching end: Watermark, until: WallTime, clock: WallTime
    ) -> (pushes: [Push], drops: [TimerDrop]) {
        var pushes: [Push] = []
        var drops: [TimerDrop] = []
        for timer in timers where end.isBehind(timer.due, timer.hash) {
            let status = orders[timer.order]?.status
            if clock - timer.due > maxLateness {
                drops.append(.tooLate)
            } else if timer.number > 0, status != "pending", status != "processing" {
                drops.append(.picked)
            } else if timer.number == 1 || timer.number == 2, timer.due + 900_000 <= until {
                drops.append(.superseded)
            } else {
                let type = timer.number == 0 ? "event_timeslot_started" : "event_unpicked_orders_reminder"
                pushes.append(Push(order: timer.order, text: "\(type)  \(timer.due.milliseconds)"))
            }
        }
        watermark = end
        return (pushes, drops)
    }

    /// Those that are still to come, as they are sent.
    private var timers: [Timer] {
        orders.flatMap { id, order in
            let hash = Self.hashes[id] ?? ""
            return order.dues.filter { !watermark.isBehind($0.due, hash) }
                .map { Timer(order: id, number: $0.number, due: $0.due, hash: hash) }
        }
        .sorted { ($0.due, $0.hash) < ($1.due, $1.hash) }
    }

    /// Timers that are over and that no tick has looked at.
    func forgotten(at clock: WallTime) -> [String] {
        timers.filter { $0.due <= clock }.map { "forgotten: \($0.order) \($0.due.milliseconds)" }
    }
}
