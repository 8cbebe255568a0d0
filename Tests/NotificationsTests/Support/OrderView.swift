import Digests

@testable import Notifications

/// What is known of one order, as values to compare.
struct OrderView: Equatable {
    var id: String
    var status: String?
    var place: String?
    var visibleID: String?
    var parentID: String?
    var orderType: OrderType?
    /// The event time of the event that was applied last.
    var lastTime: WallTime?
    /// Minutes since midnight.
    var slot: [Int16]?
    /// Days since 1970.
    var date: Int32?
    /// Newest first.
    var identities: [UInt64] = []
    /// When its timers are due, and those of them that may still fire.
    var timers: [WallTime] = []
    var pendingTimers: [WallTime] = []
}

extension OrderStates {
    /// The known orders of a partition, sorted by id.
    func views(of partition: Int32) -> [OrderView] {
        var views: [OrderView] = []
        guard let orders = self[partition] else { return views }
        orders.table.visit { _, block in
            if let view = orders.view(block) { views.append(view) }
        }
        return views.sorted { $0.id < $1.id }
    }
}

extension PartitionOrders {
    fileprivate func view(_ block: OrderBlock) -> OrderView? {
        let draft = OrderDraft(reading: block)
        let header = draft.header
        func text(_ bytes: UnsafeRawBufferPointer, _ time: UInt32, isOfEnd: Bool = false) -> String? {
            isAlive(time, header, isOfEnd: isOfEnd) ? String(decoding: bytes, as: UTF8.self) : nil
        }
        var view = OrderView(id: String(decoding: draft.id, as: UTF8.self))
        view.status = text(draft.status, header.statusAt, isOfEnd: true)
        view.place = text(draft.place, header.placeAt)
        view.visibleID = text(draft.visibleID, header.visibleAt)
        view.parentID = text(draft.parentID, header.parentAt)
        if isAlive(header.typeAt, header) { view.orderType = header.flags.orderType }
        if isAlive(header.timeAt, header, isOfEnd: true) { view.lastTime = header.lastTime }
        if isAlive(header.slotAt, header) { view.slot = [header.slotStart, header.slotEnd] }
        if isAlive(header.dateAt, header) {
            view.date = header.date
        } else if isAlive(header.orderDateAt, header) {
            view.date = header.orderDate
        } else if view.slot != nil, header.flags.contains(.hasSlotDate) {
            view.date = header.slotDate
        }
        for index in (header.flags.contains(.hasEnd) ? 1 : 0)..<Int(header.markCount)
        where Int64(block.mark(index).until) > newest.milliseconds / 1000 {
            view.identities.append(block.mark(index).value)
        }
        let timers = OrderTimers(header, spread: spread(of: draft.place))
        if !timers.isEmpty, view.slot != nil, view.place != nil, view.date != nil {
            view.timers = TimerKind.allCases.map { timers.due($0) }
            view.pendingTimers = TimerKind.allCases.filter {
                timers.isPending($0, after: watermark, hash: StoredHash(of: draft.id))
            }.map { timers.due($0) }
        }
        return view == OrderView(id: view.id) ? nil : view
    }
}
