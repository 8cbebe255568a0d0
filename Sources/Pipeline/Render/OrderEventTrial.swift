import Notifications

/// What the pipeline would make of one order event, whatever came before it: the daemon's own extractor. One owner.
package struct OrderEventTrial: ~Copyable {
    package struct Verdict {
        /// The dead letter that it would be, and what else it lacks.
        package fileprivate(set) var letters: [DeadLetter] = []
        /// Of the order that it is about; nil: it names none, or several.
        package fileprivate(set) var orderID: [UInt8]?
    }

    private var extractor: Extractor
    private var batch: EventBatch

    package init(_ configuration: PipelineConfiguration) {
        extractor = Extractor(rules: configuration.rules)
        batch = EventBatch(.orders, topic: configuration.topics.events)
    }

    /// - Parameters:
    ///   - headers: of the record.
    ///   - now: the record's time.
    package mutating func verdict(
        _ value: [UInt8], _ headers: [(name: String, value: [UInt8])], now: WallTime
    ) -> Verdict {
        batch.removeAll()
        defer { batch.removeAll() }
        let names = headers.map { Array($0.name.utf8) }
        return value.withUnsafeBytes { value in
            Self.withBytes(names + headers.map(\.value)) { texts in
                for (number, _) in headers.enumerated() {
                    batch.headers.append(EventHeader(name: texts[number], value: texts[headers.count + number]))
                }
                batch.records.append(
                    EventRecord(
                        partition: 0, offset: 0, timestamp: now, key: nil, value: value, headers: 0..<headers.count))
                return extract()
            }
        }
    }

    private mutating func extract() -> Verdict {
        var history = OrderNote()
        var verdict = Verdict()
        switch extractor.extract(0, in: &batch, history: &history) {
        case .deadLetter(let letter): verdict.letters = [letter] + extractor.alsoLacks
        case .suppressed: verdict.orderID = history.orderID
        case .notifications(let count):
            guard count == 1, case .order(let order)? = batch.notifications.first?.kind else { break }
            let id = batch.bytes(order.orderID)
            verdict.orderID = id.isEmpty ? nil : Array(id)
        }
        return verdict
    }

    /// - Parameter body: gets the bytes of each, valid as long as it runs.
    private static func withBytes<Result>(
        _ texts: [[UInt8]], _ body: ([UnsafeRawBufferPointer]) -> Result
    ) -> Result {
        texts.flatMap { $0 }.withUnsafeBytes { all in
            var rest = all[...]
            return body(
                texts.map { text in
                    defer { rest = rest.dropFirst(text.count) }
                    return UnsafeRawBufferPointer(rebasing: rest.prefix(text.count))
                })
        }
    }
}

/// Notes which order an event is about, also where it notifies nobody.
private struct OrderNote: OrderHistory {
    private(set) var orderID: [UInt8]?

    mutating func consider(_ event: OrderFacts) -> OrderVerdict { OrderVerdict() }
    mutating func apply(_ event: OrderFacts) { orderID = event.orderID.map { Array($0) } }
}
