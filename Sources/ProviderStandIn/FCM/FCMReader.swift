import JSONReader

/// Reads the body of a `messages:send`.
struct FCMReader {
    struct Message {
        var target = ""
        var validateOnly = false
        var collapseKey: String?
        var ttl: String?
    }

    struct Fault: Error {
        var error: FCMError
    }

    /// A reader keeps its buffers, and is not copyable: the box lets it live in a value. `@unchecked Sendable`: it is part of
    /// the state that the stand-in keeps behind its lock.
    private final class Box: @unchecked Sendable {
        var reader = JSONReader()
    }

    private let box = Box()

    mutating func read(_ body: [UInt8]) -> Result<Message, Fault> {
        body.withUnsafeBytes { bytes in
            guard let value = try? box.reader.parse(bytes), value.isObject else {
                return .failure(
                    Fault(
                        error: FCMError(
                            code: 400, message: "Invalid JSON payload received.", errorCode: "INVALID_ARGUMENT")))
            }
            let violations = unknownNames(value) + FCMMessageRules.violations(in: value.member("message"))
            guard violations.isEmpty, let message = value.member("message") else {
                let text = violations.count == 1 ? violations[0].description : "Request contains an invalid argument."
                return .failure(
                    Fault(
                        error: FCMError(
                            code: 400, message: text, errorCode: "INVALID_ARGUMENT", violations: violations)))
            }
            let target =
                message.member("token") ?? message.member("fid") ?? message.member("topic")
                ?? message.member("condition")
            let android = message.member("android")
            return .success(
                Message(
                    target: target?.string?.swiftString ?? "",
                    validateOnly: value.member("validate_only")?.boolean ?? false,
                    collapseKey: android?.member("collapse_key")?.string?.swiftString,
                    ttl: android?.member("ttl")?.string?.swiftString))
        }
    }

    private func unknownNames(_ value: JSONValue) -> [FCMError.Violation] {
        var found: [FCMError.Violation] = []
        var members = value.members
        while let (name, _) = members.next() {
            if name == "message" || name == "validate_only" { continue }
            found.append(
                .init(
                    field: "",
                    description:
                        "Invalid JSON payload received. Unknown name \"\(name.swiftString)\": Cannot find field."))
        }
        return found
    }
}

/// `application/x-www-form-urlencoded`.
struct Form {
    private var fields: [String: String] = [:]

    init(_ body: [UInt8]) {
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            fields[Self.decode(parts[0])] = parts.count > 1 ? Self.decode(parts[1]) : ""
        }
    }

    subscript(name: String) -> String? { fields[name] }

    private static func decode(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
