import KafkaClient
import NotificationPayload
import Pipeline

/// The devices that a broadcast would go to now, by language and provider.
package struct BroadcastReach: Equatable {
    private struct Group: Hashable {
        /// The broadcast's own tag; nil for one that is not shown.
        var language: String?
        var platform: Platform
    }

    private var devices: [Group: Int] = [:]
    /// Devices that were last seen longer ago than `subscriptions.max-age`; they get nothing.
    package private(set) var stale = 0
    private let languages: [String]

    /// - Parameter languages: of the broadcast, in its order.
    package init(languages: [String]) {
        self.languages = languages
    }

    package mutating func note(_ device: Device, publishedAt: WallTime, maxAge: Int64) {
        guard !device.isStale(at: publishedAt, maxAge: maxAge) else {
            stale += 1
            return
        }
        let language =
            languages.isEmpty ? nil : languages[LanguageTag.choice(for: device.locale, among: languages)]
        devices[Group(language: language, platform: device.platform), default: 0] += 1
    }

    package var count: Int { devices.values.reduce(0, +) }

    /// How many of a platform or a language; nil: of all.
    package func count(platform: Platform? = nil, language: String? = nil) -> Int {
        devices.reduce(0) { sum, each in
            let isWanted =
                (platform == nil || each.key.platform == platform) && (language == nil || each.key.language == language)
            return isWanted ? sum + each.value : sum
        }
    }

    /// Counts the subscriptions; see ``SubscribedDevices/read(_:_:now:logger:most:isStopped:progress:)``.
    package static func count(
        _ broadcast: BroadcastNotification, _ configuration: PipelineConfiguration, now: WallTime,
        logger sink: @escaping ClientLog.Sink, most: Int = .max, isStopped: () -> Bool = { false },
        progress: (Int, Double) -> Void = { _, _ in }
    ) throws -> BroadcastReach {
        let table = try SubscribedDevices.read(
            [broadcast.audience], configuration, now: now, logger: sink, most: most, isStopped: isStopped,
            progress: progress)
        var reader = try table.makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        try Array(broadcast.audience.utf8).withUnsafeBytes { audience in
            try reader.addDevices(of: audience, as: 0, limit: Int.max - 1, to: &list)
        }
        var reach = BroadcastReach(languages: broadcast.languages)
        let maxAge = Int64(configuration.subscriptionsMaxAge / .milliseconds(1))
        for device in list.devices { reach.note(device, publishedAt: broadcast.publishedAt, maxAge: maxAge) }
        return reach
    }
}

extension BroadcastNotification {
    /// Its languages in their order; none of one that is not shown.
    package var languages: [String] {
        switch content {
        case .display(let display): display.texts.map(\.language)
        case .nonDisplay: []
        }
    }

    /// `display, downtime`.
    package var kind: String {
        switch content {
        case .display(let display): "display, \(display.kind.rawValue)"
        case .nonDisplay(let nonDisplay): "non-display, \(nonDisplay.kind.rawValue)"
        }
    }
}
