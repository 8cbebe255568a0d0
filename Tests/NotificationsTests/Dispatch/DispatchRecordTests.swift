import CarillonTesting
import Foundation
import NotificationPayload
import StageSupport
import TestSupport
import Testing

@testable import Notifications

/// Calls `body` with a record of these headers; a nil value is null.
private func withRecord(
    _ headers: [(name: String, value: String?)], _ body: (DispatchRecord) throws -> Void
) rethrows {
    let memory = Memory()
    defer { withExtendedLifetime(memory) {} }
    let views = headers.map { EventHeader(name: memory.copy($0.name), value: $0.value.map { memory.copy($0) }) }
    try views.withUnsafeBufferPointer { views in
        try body(DispatchRecord(key: memory.copy("key"), value: memory.copy("{}"), headers: views))
    }
}

private func text(_ bytes: UnsafeRawBufferPointer?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

@Suite("Reading a dispatch record")
struct DispatchRecordTests {
    /// The headers of a record besides those of every record.
    struct HeaderSet: CustomTestStringConvertible, Sendable {
        var optional: Set<RenderSettings.OptionalHeader>
        var isDegraded: Bool
        var hasTraceparent: Bool
        var isReplayed: Bool
        var command: Int64?

        static let all = (0..<128).map { bits in
            HeaderSet(
                optional: Set(
                    RenderSettings.OptionalHeader.allCases.enumerated().filter { bits >> $0.offset & 1 == 1 }
                        .map(\.element)),
                isDegraded: bits & 8 != 0, hasTraceparent: bits & 16 != 0, isReplayed: bits & 32 != 0,
                command: bits & 64 == 0 ? nil : bits & 1 == 0 ? 0 : 9_007_199_254_740_993)
        }

        var testDescription: String { headers.map(\.text).joined(separator: ",") }

        var headers: [DispatchHeader] {
            DispatchHeader.allCases.filter { header in
                switch header {
                case .messageID, .platform, .source, .expiresAt, .audience: true
                case .eventType: optional.contains(.eventType)
                case .app: optional.contains(.app)
                case .orderID: optional.contains(.orderID)
                case .requestID: false
                case .degraded: isDegraded
                case .traceparent: hasTraceparent
                case .command: command != nil
                case .replay: isReplayed
                }
            }
        }
    }

    @Test("a record has what the renderer wrote, with every set of headers", arguments: HeaderSet.all)
    func roundTrip(_ set: HeaderSet) throws {
        let memory = Memory()
        defer { withExtendedLifetime(memory) {} }
        var batch = EventBatch()
        batch.add(
            orderID: set.isDegraded ? "" : "742ba33c", eventType: .known(.unpickedOrdersReminder),
            isDegraded: set.isDegraded)
        if set.hasTraceparent {
            batch.records[0].traceparent = memory.copy("00-ab-cd-01")
        }
        let devices: [Subscription] = [.fcm("token-1"), .apns("00fc13ad")]
        var fanOut = try makeFanOut(devices, command: set.command)
        var renderer = MessageRenderer(settings: RenderSettings(optionalHeaders: set.optional))
        _ = try fanOut.resolve(batch, from: 0, limit: 10)
        let recipients = fanOut.recipients(of: 0, in: batch)
        #expect(renderer.begin(batch.notifications[0], in: batch, platforms: recipients.platforms) == nil)
        var platforms: Set<Platform> = []
        for position in recipients.devices {
            let device = fanOut.recipient(position)
            let written = renderer.render(device, audience: fanOut.audience(of: device))
            var headers = Array(written.headers)
            if set.isReplayed {
                headers.append(EventHeader(name: DispatchHeader.replay.bytes, value: memory.copy("r1")))
            }
            try headers.withUnsafeBufferPointer { headers in
                let record = DispatchRecord(key: written.key, value: written.value, headers: headers)
                #expect(record.headers.map { text($0.name) } == set.headers.map(\.text))
                let platform = try record.platform
                platforms.insert(platform)
                let subscription = try #require(devices.first { $0.platform == platform })
                #expect(platform == device.platform && text(record.key) == subscription.tokenHash)
                #expect(text(record.value)?.contains(subscription.token) == true)
                #expect(text(try record.messageID) == "msg-1751896800000-vsgxl8m52")
                let source = try record.source
                #expect(text(source.topic) == "orders.events" && source.partition == 3 && source.offset == 4_711)
                #expect(text(source.text) == "orders.events/3/4711")
                #expect(try record.expiresAt == noon + 3_600_000)
                #expect(
                    text(record[.eventType])
                        == (set.optional.contains(.eventType) ? EventType.unpickedOrdersReminder.rawValue : nil))
                #expect(text(record.audience) == "place/7")
                #expect(text(record[.app]) == (set.optional.contains(.app) ? subscription.app : nil))
                let orderID = set.isDegraded ? "" : "742ba33c"
                #expect(text(record[.orderID]) == (set.optional.contains(.orderID) ? orderID : nil))
                #expect(text(record[.degraded]) == (set.isDegraded ? "order_id" : nil))
                #expect(text(record[.traceparent]) == (set.hasTraceparent ? "00-ab-cd-01" : nil))
                #expect(text(record[.command]) == set.command.map { "\($0)" })
                #expect(text(record.replayID) == (set.isReplayed ? "r1" : nil))
                #expect(record.original.headers.count == written.headers.count)
                for header in DispatchHeader.allCases {
                    #expect((record.text(header) != nil) == set.headers.contains(header), "\(header.name)")
                }
            }
        }
        #expect(platforms == Set(Platform.allCases))
    }

    @Test("a missing, null or invalid header is an error that lists the allowed values")
    func errors() throws {
        let cases: [(header: DispatchHeader, values: [String?], allowed: String)] = [
            (.messageID, [nil, ""], "a text that is not empty"),
            (.platform, [nil, "", "sms", "FCM"], "fcm or apns"),
            (
                .source,
                [
                    nil, "", "orders.events", "orders.events/3", "/3/4711", "orders.events/-1/4711", "orders.events/3/",
                    "orders.events/2147483648/1", "orders.events/3/9223372036854775808", "orders.events/3/47 11",
                ], "<topic>/<partition>/<offset>"
            ),
            (
                .expiresAt, [nil, "", "-", "1e3", "+5", "9223372036854775808"],
                "the milliseconds since 1970 in decimal digits"
            ),
        ]
        for (header, values, allowed) in cases {
            for value in values {
                let found = value.map { "\"\($0)\"" }
                let message = "the header \(header.name) is \(found ?? "missing"), allowed is \(allowed)"
                let errors = [
                    Self.error(header, [(header.text, value)]), value == nil ? Self.error(header, []) : nil,
                ].compactMap(\.self)
                #expect(errors.count == (value == nil ? 2 : 1), "\(header.name) \(value ?? "null")")
                for error in errors {
                    #expect(error.header == header && error.found == found && error.description == message)
                }
            }
        }
    }

    /// The error of reading a header.
    private static func error(
        _ header: DispatchHeader, _ headers: [(name: String, value: String?)]
    ) -> DispatchRecordError? {
        var found: DispatchRecordError?
        withRecord(headers) { record in
            do throws(DispatchRecordError) {
                switch header {
                case .messageID: _ = try record.messageID
                case .platform: _ = try record.platform
                case .source: _ = try record.source
                case .expiresAt: _ = try record.expiresAt
                case .audience, .eventType, .app, .orderID, .requestID, .degraded, .traceparent, .command, .replay:
                    break
                }
            } catch {
                found = error
            }
        }
        return found
    }

    @Test("an invalid value is quoted, shortened, and without control characters")
    func quoted() {
        let long = String(repeating: "x", count: 65)
        #expect(Self.error(.platform, [("platform", long)])?.found == "\"\(long.dropLast())…\"")
        #expect(Self.error(.platform, [("platform", "a\nb")])?.found == "\"a<U+A>b\"")
    }

    @Test("numbers at their limits and an expiry before 1970 are read")
    func numbers() throws {
        try withRecord([("source", "a/b/2147483647/9223372036854775807"), ("expires-at", "-1500")]) { record in
            let source = try record.source
            #expect(text(source.topic) == "a/b" && source.partition == .max && source.offset == .max)
            #expect(try record.expiresAt == -1_500)
        }
    }

    @Test("if a header occurs twice, the first one counts")
    func twice() {
        withRecord([("audience", "place/1"), ("audience", "place/2")]) { record in
            #expect(text(record.audience) == "place/1")
        }
    }

    @Test("a replay is recognised by its last header, which has an id")
    func replay() {
        withRecord([("replay", "r1"), ("audience", "place/1")]) { record in
            #expect(record.replayID == nil && record.original.headers.count == 2)
        }
        for value in [nil, ""] as [String?] {
            withRecord([("replay", value)]) { record in
                #expect(record.replayID == nil && record.original.headers.count == 1)
            }
        }
        withRecord([("replay", "r1"), ("replay", "r2")]) { record in
            #expect(text(record.replayID) == "r2" && text(record.original.replayID) == "r1")
        }
    }
}

@Suite("The headers of a dispatch record")
struct DispatchHeaderTests {
    @Test("docs/code.md §4 lists them in their order")
    func design() throws {
        let contracts = try Page("docs/code.md").text()
        let start = try #require(contracts.range(of: "**notifications.dispatch**")?.upperBound)
        let end = try #require(contracts.range(of: "**notifications.dead-letters**")?.lowerBound)
        let named = contracts[start..<end].matches(of: /`([a-z-]+)`/).map { String($0.1) }
        #expect(named == DispatchHeader.allCases.map(\.text))
    }

    @Test("their schema has the same names, platforms and event types, and requires the headers of every record")
    func schema() throws {
        struct Schema: Decodable {
            struct Property: Decodable {
                var `enum`: [String]?
                var anyOf: [Self]?
            }
            var required: [String]
            var properties: [String: Property]
        }
        let text = try Page("Schemas/notifications.dispatch.headers.schema.json").text()
        let schema = try JSONDecoder().decode(Schema.self, from: Data(text.utf8))
        #expect(Set(schema.properties.keys) == Set(DispatchHeader.allCases.map(\.text)))
        #expect(schema.required == DispatchHeader.allCases.prefix(5).map(\.text))
        #expect(schema.properties["platform"]?.enum == Platform.allCases.map(\.rawValue))
        #expect(
            schema.properties["event-type"]?.anyOf?.first?.enum
                == EventType.allCases.map(\.rawValue) + RequestNotification.Content.allCases.map(\.rawValue) + [
                    "broadcast"
                ])
    }

    @Test("a name is the same as bytes and as a string, and unique", arguments: DispatchHeader.allCases)
    func names(_ header: DispatchHeader) {
        #expect(text(header.bytes) == header.text && header.text == "\(header.name)")
        #expect(DispatchHeader.allCases.filter { $0.matches(header.bytes) } == [header])
    }

    @Test("the names in the setting are the names of the headers", arguments: RenderSettings.OptionalHeader.allCases)
    func optional(_ header: RenderSettings.OptionalHeader) {
        #expect(RenderSettings.OptionalHeader(rawValue: header.header.text) == header)
        #expect(RenderSettings.OptionalHeader(rawValue: "platform") == nil)
    }

    @Test("docs/rules.md §7: a provider's message has its device's token in the member for what the token is")
    func tokens() throws {
        var batch = EventBatch()
        batch.add()
        var installed = Subscription.fcm("f1d")
        installed.addressKind = .installationID
        var fanOut = try makeFanOut([.fcm("f0ken"), .apns("a0ba"), installed])
        var renderer = MessageRenderer(settings: RenderSettings())
        _ = try fanOut.resolve(batch, from: 0, limit: 10)
        let recipients = fanOut.recipients(of: 0, in: batch)
        #expect(renderer.begin(batch.notifications[0], in: batch, platforms: recipients.platforms) == nil)
        #expect(recipients.platforms == .all)
        #expect(Set(recipients.devices.map { fanOut.recipient($0).kind }) == Set(AddressKind.allCases))
        for position in recipients.devices {
            let device = fanOut.recipient(position)
            let record = renderer.render(device, audience: fanOut.audience(of: device))
            let member = "\"\(device.kind.member)\":\"\(text(device.token) ?? "")\""
            #expect(text(record.value)?.contains(member) == true)
        }
    }
}
