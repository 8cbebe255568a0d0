import JSONReader
import KafkaClient

/// Folds the records of `topic.control` into a view. No I/O and no clock.
package struct ControlFold: ~Copyable, FollowedFold {
    /// Where they would be more, the oldest leave.
    static let mostCancelled = 1_000_000
    /// More are ignored: there are not so many credentials.
    static let mostPauses = 1_000

    package private(set) var view = ControlView()
    private let mostCancelled: Int
    private var reader = JSONReader()
    /// In the order of the log; one that the view has with another time was cancelled again, or taken back.
    private var order: [(id: RequestIDHash, at: WallTime)] = []
    /// How many of ``order`` have left.
    private var left = 0

    package init() { self.init(mostCancelled: Self.mostCancelled) }

    init(mostCancelled: Int) { self.mostCancelled = mostCancelled }

    package mutating func take(_ records: borrowing RecordBatch) {
        for index in 0..<records.count {
            let record = records[index]
            if records.unreadable.contains(where: { $0.offsets.upperBound == record.offset }) {
                view.ignored += 1
                continue
            }
            take(
                key: record.key.map { Array($0) } ?? [], value: record.value.map { Array($0) },
                at: record.timestamp ?? .epoch)
        }
    }

    /// The next record.
    ///
    /// - Parameters:
    ///   - value: nil takes back what its key says.
    ///   - time: the broker's.
    package mutating func take(key: [UInt8], value: [UInt8]?, at time: WallTime) {
        guard let key = ControlKey(key) else {
            view.ignored += 1
            return
        }
        guard let value else {
            switch key {
            case .cancel(let id): view.cancelled[RequestIDHash(id)] = nil
            case .pause(let target): view.pauses[target] = nil
            }
            return
        }
        guard let entry = ControlEntry(value, &reader) else {
            view.ignored += 1
            return
        }
        switch key {
        case .cancel(let id): cancel(RequestIDHash(id), at: time)
        case .pause(let target):
            if view.pauses.count >= Self.mostPauses { view.pauses = view.pauses.filter { $0.value.holds(at: time) } }
            // A provider is one of few, whatever names of credentials there are.
            guard target.credential == nil || view.pauses[target] != nil || view.pauses.count < Self.mostPauses else {
                view.ignored += 1
                return
            }
            view.pauses[target] = ControlView.Pause(entry: entry, recordedAt: time)
        }
    }

    private mutating func cancel(_ id: RequestIDHash, at time: WallTime) {
        view.cancelled[id] = time
        order.append((id, time))
        while order.count - left > mostCancelled || time - order[left].at >= ControlView.longest {
            if view.cancelled[order[left].id] == order[left].at { view.cancelled[order[left].id] = nil }
            left += 1
        }
        guard left > order.count / 2 else { return }
        order.removeFirst(left)
        left = 0
    }
}
