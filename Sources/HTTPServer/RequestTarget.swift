/// Path and query of a request, decoded exactly once.
package struct RequestTarget: Equatable, Sendable {
    package struct Parameter: Equatable, Sendable {
        package var name: String
        package var value: String
    }

    /// What is between the slashes: `/v1/place%2F42` has the segments `v1` and `place/42`, `/` one that is empty.
    package var path: [String]
    package var query: [Parameter]

    /// - Parameter text: as it came.
    /// - Returns: nil if it does not begin with a slash, or has an escape that is not one, a byte that an escape should be for,
    ///   or a control character; or if it is not UTF-8 where it is decoded.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].first == UInt8(ascii: "/") else { return nil }
        path = []
        for segment in parts[0].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let segment = Self.decode(segment) else { return nil }
            path.append(segment)
        }
        query = []
        guard parts.count > 1 else { return }
        for parameter in parts[1].split(separator: UInt8(ascii: "&")) {
            let sides = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(sides[0]), let value = Self.decode(sides.count > 1 ? sides[1] : "".utf8[...])
            else {
                return nil
            }
            query.append(Parameter(name: name, value: value))
        }
    }

    /// A segment of a path, with an escape for all that is not unreserved (RFC 3986, section 2.3).
    package static func encoded(_ segment: String) -> String {
        var text = ""
        for byte in segment.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += byte < 16 ? "%0" : "%"
                text += String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    /// A plus sign stays one: that it is a blank holds for forms only.
    private static func decode(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            var decoded = byte
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                decoded = high << 4 | low
            } else if byte >= 0x7F {
                return nil
            }
            guard decoded > 0x1F, decoded != 0x7F, byte != UInt8(ascii: " ") else { return nil }
            bytes.append(decoded)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
