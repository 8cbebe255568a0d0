import HTTPClient
import JSONReader
import Notifications

/// A dispatch record for APNs: which device and environment, and its request.
package struct APNsRequest: Equatable, Sendable {
    package static func host(_ environment: PushEnvironment) -> String {
        switch environment {
        case .production: "https://api.push.apple.com"
        case .development: "https://api.sandbox.push.apple.com"
        }
    }

    /// The bundle id: the header `apns-topic`.
    package let app: String
    package let environment: PushEnvironment
    private let path: String
    private let headers: [HTTPHeader]
    private let payload: [UInt8]

    /// Reads a record's value (docs/rules.md §7). Headers go into a request: one that a request cannot have is refused.
    package init(_ value: UnsafeRawBufferPointer, _ reader: inout JSONReader) throws(MessageProblem) {
        guard let parsed = try? reader.parse(value),
            let token = parsed.member("device_token")?.string, Self.isToken(token.bytes),
            let name = parsed.member("environment")?.string,
            let environment = PushEnvironment.allCases.first(where: { name.bytes.elementsEqual($0.rawValue.utf8) }),
            let payload = JSONScanner(text: value).value(at: ["payload"]),
            value[payload.lowerBound] == UInt8(ascii: "{")
        else { throw .unreadableRecord }
        var headers: [HTTPHeader] = []
        var app: String?
        var members = parsed.member("headers")?.members
        while let (name, value) = members?.next() {
            guard let text = value.string, name.bytes.count < 64,
                UnsafeRawBufferPointer(name.bytes).starts(with: "apns-".utf8),
                name.bytes.allSatisfy({
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
                }),
                text.bytes.count <= 1_024, text.bytes.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw .unreadableRecord }
            let header = HTTPHeader(String(name), String(text))
            if header.name == "apns-topic" { app = header.value }
            if header.name != "apns-id" { headers.append(header) }
        }
        guard let app, !app.isEmpty else { throw .unreadableRecord }
        self.app = app
        self.environment = environment
        path = "/3/device/\(String(token))"
        self.headers = headers
        self.payload = Array(value[payload])
    }

    private static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        (1...4_096).contains(bytes.count)
            && bytes.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
            }
    }

    /// The request: the record's headers and payload as they are, the token, and an `apns-id` that is the same for
    /// every request of this push to this device.
    ///
    /// - Parameters:
    ///   - messageID: the record's header.
    ///   - device: the record's key, 64 hex digits.
    ///   - host: with the scheme and, if it is not 443, the port; another one for tests.
    package func request(
        messageID: UnsafeRawBufferPointer, device: UnsafeRawBufferPointer, token: BearerToken, host: String? = nil
    ) -> ProviderRequest {
        ProviderRequest(
            url: (host ?? Self.host(environment)) + path,
            headers: headers + [
                .init("authorization", token.header("bearer")),
                .init("apns-id", ProviderRequest.apnsID(messageID: messageID, device: device)),
            ],
            body: payload)
    }
}
