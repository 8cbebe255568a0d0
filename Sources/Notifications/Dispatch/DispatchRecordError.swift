/// A header of a dispatch record that is missing or has an invalid value.
package struct DispatchRecordError: Error, Equatable, Sendable, CustomStringConvertible {
    package let header: DispatchHeader
    /// The value of the header, quoted and shortened; nil if the record lacks the header.
    package let found: String?

    init(_ header: DispatchHeader, found: UnsafeRawBufferPointer?) {
        self.header = header
        self.found = found.map { DeadLetter.quote($0) }
    }

    package var description: String {
        "the header \(header.name) is \(found ?? "missing"), allowed is \(header.allowed)"
    }
}

extension DispatchHeader {
    /// The allowed values, for a person.
    var allowed: String {
        switch self {
        case .messageID: "a text that is not empty"
        case .platform: Platform.allCases.map(\.rawValue).joined(separator: " or ")
        case .source: "<topic>/<partition>/<offset>"
        case .expiresAt: "the milliseconds since 1970 in decimal digits"
        case .audience, .eventType, .app, .orderID, .requestID, .degraded, .traceparent, .command, .replay:
            "any text"
        }
    }
}
