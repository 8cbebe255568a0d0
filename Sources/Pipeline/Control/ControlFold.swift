import JSONReader
import KafkaClient

/// Folds the records of `topic.control` into a view. No I/O and no clock.
package struct ControlFold: ~Copyable, FollowedFold {
    /// Where they would be more, the oldest leave.
    static let mostCancelled = 1_000_000
    /// Of withdrawals and of the audiences in them; where they would be more, the oldest leave.
    static let mostWithdrawn = 1_000_000
    /// More are ignored: there are not so many credentials.
    static let mostPauses = 1_000

    package private(set) var view = ControlView()
    private let (mostCancelled, mostWithdrawn): (Int, Int)
    private var reader = JSONReader()
    /// In the order of the log; one that the view has with another time was written again, or taken back.
    private var cancels = Queue<(id: Hash128, at: WallTime)>()
    private var withdrawals = Queue<(address: Hash128, command: Int64, at: WallTime)>()
    /// See ``WithdrawalEntry/weight``.
    private var withdrawn = 0

    package init() { self.init(mostCancelled: Self.mostCancelled, mostWithdrawn: Self.mostWithdrawn) }

    init(mostCancelled: Int, mostWithdrawn: Int) {
        (self.mostCancelled, self.mostWithdrawn) = (mostCancelled, mostWithdrawn)
    }

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
        switch (key, value) {
        case (.cancel(let id), nil): view.cancelled.since[Hash128(id)] = nil
        case (.pause(let target), nil): view.pauses[target] = nil
        case (.address(let address, let command), nil):
            withdrawn -= view.withdrawn.remove(command, at: nil, of: Hash128(address))
        case (.cancel(let id), let value?):
            guard ControlEntry(value, &reader) != nil else {
                view.ignored += 1
                return
            }
            cancel(Hash128(id), at: time)
        case (.pause(let target), let value?):
            guard let entry = ControlEntry(value, &reader) else {
                view.ignored += 1
                return
            }
            pause(target, entry, at: time)
        case (.address(let address, let command), let value?):
            guard let withdrawal = WithdrawalEntry(value, &reader) else {
                view.ignored += 1
                return
            }
            withdraw(Hash128(address), .init(command: command, at: time, withdrawal: withdrawal))
        }
    }

    private mutating func cancel(_ id: Hash128, at time: WallTime) {
        view.cancelled.since[id] = time
        cancels.append((id, time))
        while let first = cancels.first {
            let isOver = time - first.at >= ControlView.longest
            guard isOver || cancels.count > mostCancelled else { break }
            if !isOver { view.ignored += 1 }
            if view.cancelled.since[first.id] == first.at { view.cancelled.since[first.id] = nil }
            cancels.removeFirst()
        }
    }

    private mutating func pause(_ target: PauseTarget, _ entry: ControlEntry, at time: WallTime) {
        if view.pauses.count >= Self.mostPauses { view.pauses = view.pauses.filter { $0.value.holds(at: time) } }
        // A provider is one of few, whatever names of credentials there are.
        guard target.credential == nil || view.pauses[target] != nil || view.pauses.count < Self.mostPauses else {
            view.ignored += 1
            return
        }
        view.pauses[target] = ControlView.Pause(entry: entry, recordedAt: time)
    }

    private mutating func withdraw(_ address: Hash128, _ entry: WithdrawnPushes.Entry) {
        withdrawn += view.withdrawn.add(entry, to: address)
        withdrawals.append((address, entry.command, entry.at))
        while let first = withdrawals.first {
            let isOver = entry.at - first.at >= ControlView.longest
            guard isOver || withdrawn > mostWithdrawn || withdrawals.count > mostWithdrawn else { break }
            if !isOver { view.ignored += 1 }
            withdrawn -= view.withdrawn.remove(first.command, at: first.at, of: first.address)
            withdrawals.removeFirst()
        }
    }
}

/// Elements that leave in the order in which they came.
private struct Queue<Element> {
    private var elements: [Element] = []
    /// How many of them have left.
    private var left = 0

    var count: Int { elements.count - left }
    var first: Element? { left < elements.count ? elements[left] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() {
        left += 1
        guard left > elements.count / 2 else { return }
        elements.removeFirst(left)
        left = 0
    }
}
