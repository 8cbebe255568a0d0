import NotificationPayload
import StageSupport
import Testing

@testable import Notifications

/// What one request becomes for a device of each platform.
struct RenderedRequest {
    var fcm = ""
    var apns = ""
    var headers: [Platform: [String]] = [:]

    /// The devices of the examples in docs/rules.md.
    static let devices: [Subscription] = [
        Subscription(audience: "place/7", token: "made-up-token", platform: .fcm, app: "com.example.shop"),
        Subscription(audience: "place/7", token: "0a1b2c3d", platform: .apns, app: "com.example.shop"),
    ]

    init(_ sample: SampleRequest, _ settings: RenderSettings = RenderSettings()) throws {
        var batch = EventBatch(.requests, topic: "notifications.requests")
        batch.add(sample)
        var renderer = MessageRenderer(settings: settings)
        self = try #require(try Self.all(of: batch, by: &renderer).first)
    }

    /// Renders every notification of a batch for both devices.
    static func all(of batch: borrowing EventBatch, by renderer: inout MessageRenderer) throws -> [RenderedRequest] {
        var fanOut = try makeFanOut(devices)
        _ = try fanOut.resolve(batch, from: 0, limit: 1_000_000)
        var all: [RenderedRequest] = []
        for notification in batch.notifications.indices {
            let recipients = fanOut.recipients(of: notification, in: batch)
            #expect(recipients.devices.count == 2)
            let problem = renderer.begin(
                batch.notifications[notification], in: batch, platforms: recipients.platforms)
            #expect(problem == nil)
            var rendered = RenderedRequest()
            for position in recipients.devices {
                let device = fanOut.recipient(position)
                let record = renderer.render(device, audience: fanOut.audience(of: device))
                switch device.platform {
                case .fcm: rendered.fcm = String(decoding: record.value, as: UTF8.self)
                case .apns: rendered.apns = String(decoding: record.value, as: UTF8.self)
                }
                rendered.headers[device.platform] = record.headers.map { header in
                    let value = header.value.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
                    return String(decoding: header.name, as: UTF8.self) + ": " + value
                }
            }
            all.append(rendered)
        }
        return all
    }

    private init() {}
}

/// The values of a JSON text by their paths, as JSON; a list is one value.
func values(of json: String) throws -> [String: String] {
    var found: [String: String] = [:]
    func collect(_ value: PushValue, _ path: String) {
        guard let members = value.object else {
            found[path] = value.json
            return
        }
        for (name, member) in members { collect(member, path.isEmpty ? name : "\(path).\(name)") }
    }
    collect(try #require(PushValue(json: json)), "")
    return found
}
