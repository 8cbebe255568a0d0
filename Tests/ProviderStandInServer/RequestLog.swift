import Digests
import Foundation
import ProviderStandIn
import Synchronization

/// A file with a line for each request, in the order in which each provider took them. Any thread.
final class RequestLog: Sendable {
    /// Is written when there is so much.
    private static let block = 1 << 18

    let path: String
    private let descriptor: Int32
    private let waiting = Mutex<[UInt8]>([])

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
        }
    }

    func append(_ provider: StandInProviders.Provider, _ record: StandInRecord, _ fault: StandInFault?) {
        let line = RequestLine.text(provider, record, fault, at: milliseconds())
        waiting.withLock { bytes in
            bytes += line.utf8
            if bytes.count >= Self.block { write(&bytes) }
        }
    }

    func flush() {
        waiting.withLock { write(&$0) }
    }

    private func write(_ bytes: inout [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                ProviderStandInServer.fail("\(path): \(String(cString: strerror(errno)))", code: 74)
            }
            rest = rest.dropFirst(count)
        }
        bytes.removeAll(keepingCapacity: true)
    }
}

/// A request as the log has it, without the device's token:
/// - `time`: when it was there, in milliseconds since 1970. `provider`: `fcm` or `apns`.
/// - `device`: the SHA-256 of the token, in hex. `message`: the first message id in the body, or in the collapse id.
/// - `id`: the `apns-id`, or FCM's name of the message. `collapse`: the collapse id or key. `lifetime`: `android.ttl`, or
///   `apns-expiration`. `body`: 16 digits of the SHA-256 of the body, in which FCM's `android.ttl` is empty.
/// - `status` and `reason`: the answer. `fault`: the one that it met. With `hang` and `reset` nobody got the answer.
enum RequestLine {
    static func text(
        _ provider: StandInProviders.Provider, _ record: StandInRecord, _ fault: StandInFault?, at time: Int64
    ) -> String {
        var line = #"{"time":\#(time),"provider":"\#(provider.rawValue)","device":"\#(record.tokenHash)""#
        func add(_ name: StaticString, _ value: String?) {
            guard let value else { return }
            line += #","\#(name)":\#(JSONQuote.text(value))"#
        }
        add("message", messageID(in: record.body) ?? record.collapseID)
        add("id", record.id)
        add("collapse", record.collapseID)
        add("lifetime", record.lifetime)
        add("body", digest(of: record.body))
        line += #","status":\#(record.status)"#
        add("reason", record.reason)
        add("fault", fault?.name)
        return line + "}\n"
    }

    /// The first whole text like `msg-1751875337000-tap195iux`: a token may have `msg-` inside of it.
    private static func messageID(in body: [UInt8]) -> String? {
        guard let start = position(of: #""msg-"#, in: body) else { return nil }
        let id = body[(start + 1)...].prefix { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"): true
            default: false
            }
        }
        return String(decoding: id, as: UTF8.self)
    }

    private static func digest(of body: [UInt8]) -> String {
        // In the texts of the data the quotation marks have backslashes.
        let name: StaticString = #""ttl":""#
        var kept = body[...]
        if let start = position(of: name, in: body) {
            let rest = body[(start + name.utf8CodeUnitCount)...].drop { $0 != UInt8(ascii: "\"") }
            kept = body[..<(start + name.utf8CodeUnitCount)] + rest
        }
        return SHA256.hex(of: String(decoding: kept, as: UTF8.self), digits: 16)
    }

    private static func position(of text: StaticString, in body: [UInt8]) -> Int? {
        let count = text.utf8CodeUnitCount
        return body.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var index = 0
            while index + count <= bytes.count,
                let found = memchr(base + index, Int32(text.utf8Start[0]), bytes.count - count - index + 1)
            {
                index = UnsafeRawPointer(found) - base
                if memcmp(found, text.utf8Start, count) == 0 { return index }
                index += 1
            }
            return nil
        }
    }
}
