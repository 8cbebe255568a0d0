import NotificationPayload

/// The form of a `traceparent` that goes on into pushes: version 00 of W3C's Trace Context, which is the only one there
/// is (ADR 47).
package enum Traceparent {
    /// The bytes of the version, the trace id, the parent id and the flags with a hyphen after each but the last.
    package static let size = 55
    package static let name: StaticString = "traceparent"

    private static let hyphen = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")

    /// Whether a header's value has the form: lower case, and neither id is all zeros.
    package static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.count == size, value[0] == zero, value[1] == zero else { return false }
        for index in 2..<size {
            let isRight =
                switch index {
                case 2, 35, 52: value[index] == hyphen
                default: isLowerHex(value[index])
                }
            if !isRight { return false }
        }
        return value[3..<35].contains { $0 != zero } && value[36..<52].contains { $0 != zero }
    }

    /// The first of a record's headers that goes on; nil if there is none.
    package static func first(of headers: [EventHeader]) -> UnsafeRawBufferPointer? {
        let name = UnsafeRawBufferPointer(name)
        for header in headers where sameBytes(header.name, name) {
            if let value = header.value, isValid(value) { return value }
        }
        return nil
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        (zero...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
