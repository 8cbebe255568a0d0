import Digests
import JSONReader

/// To whom a dispatch record goes, and until when: what decides its provider and its credential.
package struct DispatchTarget: Equatable, Sendable {
    package let messageID: String
    /// The SHA-256 of the device's token: 64 hex digits.
    package let deviceHash: String
    package let platform: Platform
    /// Of FCM the header `app`, of APNs the bundle id in the value; nil if the record does not say.
    package let app: String?
    /// Of APNs; nil if its value does not say, and always nil of FCM, which has only one.
    package let environment: PushEnvironment?
    package let expiresAt: WallTime

    /// Reads a record. The value is parsed only for APNs: whether it is a message of its provider is not looked at.
    ///
    /// - Parameters:
    ///   - header: the value of the first header with this name; nil if there is none, or if it is null.
    ///   - reader: holds the parsed value of an APNs record afterwards.
    package init(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        header: (StaticString) -> UnsafeRawBufferPointer?, _ reader: inout JSONReader
    ) throws(DispatchTargetError) {
        guard let key, Hex.isHash(key) else { throw .key(key.map(DeadLetter.quote)) }
        deviceHash = String(decoding: key, as: UTF8.self)
        do throws(DispatchRecordError) {
            platform = try DispatchHeader.platform(header(DispatchHeader.platform.name))
            expiresAt = try DispatchHeader.expiresAt(header(DispatchHeader.expiresAt.name))
            messageID = String(
                decoding: try DispatchHeader.messageID(header(DispatchHeader.messageID.name)), as: UTF8.self)
        } catch {
            throw .header(error)
        }
        switch platform {
        case .fcm:
            app = header(DispatchHeader.app.name).flatMap(Self.name)
            environment = nil
        case .apns:
            let message = value.flatMap { try? reader.parse($0) }
            app = message?.member("headers")?.member("apns-topic")?.string.flatMap { Self.name($0.bytes) }
            let found = message?.member("environment")?.string
            environment = found.flatMap { found in
                PushEnvironment.allCases.first { found.bytes.elementsEqual($0.rawValue.utf8) }
            }
        }
    }

    /// Nil if it is empty, as that of an FCM subscription without an app.
    private static func name(_ bytes: UnsafeRawBufferPointer) -> String? {
        bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

extension Platform {
    /// Whether a dispatch record says its app in a header, and not in its value.
    package var hasAppInHeader: Bool {
        switch self {
        case .fcm: true
        case .apns: false
        }
    }
}

/// A record that belongs to no provider, because it does not say to whom it goes or until when. The pipeline writes none.
package enum DispatchTargetError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The key as it was found, quoted and shortened; nil if it is null.
    case key(String?)
    case header(DispatchRecordError)

    package var description: String {
        switch self {
        case .key(let found): "the key is \(found ?? "missing"), allowed are 64 hex digits in lower case"
        case .header(let error): error.description
        }
    }
}
