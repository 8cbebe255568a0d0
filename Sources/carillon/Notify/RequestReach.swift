import Pipeline

/// Whom a request would reach.
struct RequestReach {
    var messageID: String
    /// How many devices, by provider; only those with a device.
    var devices: [Platform: Int]
    /// Whether there are devices, but all were last seen too long ago (docs/rules.md §5.3 row 20).
    var isStale: Bool

    /// - Throws: ``CommandFailure`` with every reason if it would be a dead letter, or has expired: exit code 64.
    init(_ verdict: RequestTrial.Verdict) throws(CommandFailure) {
        if !verdict.findings.isEmpty {
            throw CommandFailure(
                .usage,
                lines: verdict.findings.map {
                    "the request would be a dead letter, \($0.letter.code.label): \($0.letter.message)"
                })
        }
        if verdict.suppression == .expired {
            throw CommandFailure(.usage, "the request has expired already: nobody would be notified")
        }
        messageID = verdict.messageID
        devices = verdict.devices
        isStale = verdict.suppression == .staleToken
    }

    var count: Int { devices.values.reduce(0, +) }

    /// `1,312 devices: 1,300 fcm, 12 apns`.
    var text: String {
        let parts = Platform.allCases.compactMap { platform in
            devices[platform].map { "\(ProgressLine.grouped($0)) \(platform.rawValue)" }
        }
        let number = count == 1 ? "1 device" : "\(ProgressLine.grouped(count)) devices"
        return parts.isEmpty ? number : "\(number): \(parts.joined(separator: ", "))"
    }
}
