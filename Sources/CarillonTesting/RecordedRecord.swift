import JSONReader
import KafkaClient
import NotificationPayload

/// A record that the pipeline wrote, with bytes of its own.
public struct RecordedRecord: Equatable, Sendable {
    /// Where it was written to.
    public enum Destination: Sendable {
        /// notifications.dispatch: one device's push.
        case dispatch
        /// notifications.dead-letters.
        case deadLetters
    }

    public var destination: Destination
    public var key: [UInt8]?
    /// nil only of a dead letter, whose event had none.
    public var value: [UInt8]?
    /// In the order in which they were written.
    public var headers: [RecordHeader]

    /// The value as text; empty where there is none.
    public var text: String { String(decoding: value ?? [], as: UTF8.self) }

    /// A header as text; of several with this name the last one, as readers take it.
    public func header(_ name: String) -> String? {
        headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What the app gets of a push; nil of a dead letter.
    public var payload: OrderPayload? {
        guard destination == .dispatch, let value else { return nil }
        var reader = JSONReader()
        let encoded = value.withUnsafeBytes { bytes -> String? in
            guard let document = try? reader.parse(bytes) else { return nil }
            let payload = document.member("message")?.member("data") ?? document.member("payload")
            return payload?.member("default")?.string.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        return encoded.flatMap { try? OrderPayload(encoded: $0) }
    }
}
