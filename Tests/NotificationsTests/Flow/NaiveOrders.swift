import Digests
import Notifications

/// The rules of orders and timers in the plainest way: dictionaries, no expiry, one partition after the other. It shares
/// no line with what it checks.
struct NaiveOrders {
    struct Result {
        var pushes: [String] = []
        var timers: [String] = []
        var drops: [String] = []
    }

    private struct Order {
        var status: String?
        var slot: WallTime?
        /// Since which record, in seconds, the slot starts then.
        var slotSince: Int64 = 0
        var identities: [String] = []
        var endedAt: WallTime?
    }

    /// W and p, as they are stored.
    struct Watermark {
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

    init(watermark: WallTime) { self.watermark = Watermark(w: watermark) }

    /// The simulation has a handful of orders.
    private static let hashes = Dictionary(
        uniqueKeysWithValues: (0..<8).map { ("o\($0)", SHA256.hex(of: "o\($0)", digits: 16)) })

    private static func hash(_ id: String) -> String { hashes[id] ?? SHA256.hex(of: id, digits: 16) }

    /// Folds the events of one transaction, and then its tick at `until`, if the watermark has moved.
    mutating func run(
        _ events: [(timestamp: WallTime, facts: EventFacts)], reaching end: Watermark, until: WallTime, clock: WallTime
    ) -> Result {
        var result = Result()
        for (timestamp, facts) in events {
            if let push = fold(facts, at: timestamp) { result.pushes.append(push) }
        }
        for due in Set(orders.values.compactMap(\.slot).flatMap { slot in (0..<4).map { slot + $0 * 900_000 } })
            .sorted()
        {
            for (id, order) in orders.sorted(by: { Self.hash($0.key) < Self.hash($1.key) }) {
                for number in 0..<4 where order.slot.map({ $0 + Int64(number) * 900_000 }) == due {
                    decide(id, order, number, upTo: end, until, clock, &result)
                }
            }
        }
        watermark = end
        return result
    }

    private mutating func fold(_ event: EventFacts, at timestamp: WallTime) -> String? {
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
        case .orderStatusChanged: return "\(event.order) event_order_status_changed \(previous ?? "unknown")"
        case .orderCreated: return "\(event.order) event_order_created "
        default: return nil
        }
    }

    private func decide(
        _ id: String, _ order: Order, _ number: Int, upTo end: Watermark, _ until: WallTime, _ clock: WallTime,
        _ result: inout Result
    ) {
        guard let slot = order.slot else { return }
        let due = slot + Int64(number) * 900_000
        let hash = Self.hash(id)
        guard !watermark.isBehind(due, hash), end.isBehind(due, hash), due.milliseconds / 1000 > order.slotSince else {
            return
        }
        if clock - due > 600_000 {
            result.drops.append("\(id) \(due.milliseconds) too_late")
        } else if number > 0, order.status != "pending", order.status != "processing" {
            result.drops.append("\(id) \(due.milliseconds) picked")
        } else if number == 1 || number == 2, due + 900_000 <= until {
            result.drops.append("\(id) \(due.milliseconds) superseded")
        } else {
            result.timers.append(
                "\(id) \(number == 0 ? "event_timeslot_started" : "event_unpicked_orders_reminder")  \(due.milliseconds)"
            )
        }
    }

    /// Timers that are over and that no tick has looked at.
    func forgotten(at clock: WallTime) -> [String] {
        orders.flatMap { id, order in
            (0..<4).compactMap { number in
                guard let slot = order.slot else { return nil }
                let due = slot + Int64(number) * 900_000
                return !watermark.isBehind(due, Self.hash(id)) && due <= clock - 1_200_000
                    && due.milliseconds / 1000 > order.slotSince
                    ? "forgotten: \(id) \(due.milliseconds)" : nil
            }
        }
    }
}
