/// The sizes of a display broadcast's messages, with any of its languages, against the providers' limits.
struct BroadcastSizes {
    private let languages: [BroadcastData.LanguageSize]
    /// What a message has beside its languages.
    private let fcmFrame: Int
    private let apnsFrame: Int
    private let isAll: Bool

    /// - Parameters:
    ///   - fcmOfFirst: what FCM counts of the message with the first language alone.
    ///   - apnsOfFirst: the payload of an APNs message with the first language alone.
    init(
        languages: [BroadcastData.LanguageSize], fcmOfFirst: Int, apnsOfFirst: Int,
        _ choice: RenderSettings.BroadcastLanguage
    ) {
        self.languages = languages
        fcmFrame = fcmOfFirst - languages[0].entry - languages[0].text
        apnsFrame = apnsOfFirst - languages[0].escapedEntry - languages[0].escapedText
        isAll = choice == .all
    }

    /// Why the broadcast is too large for a provider, with the languages without which it is not; nil if it fits.
    func problem(names: [String]) -> DeadLetter? {
        let all = Array(languages.indices)
        guard var letter = problem(with: all) else { return nil }
        if let dropped = tooMany() {
            let list = dropped.map { "\"\(names[$0])\"" }.joined(separator: ", ")
            letter.message += "; without \(list) it fits"
        } else {
            letter.message += "; fewer languages are not enough: it has to be shorter"
        }
        return letter
    }

    /// The first provider's limit that is exceeded with these languages.
    private func problem(with kept: [Int]) -> DeadLetter? {
        for platform in Platform.allCases {
            let problem =
                switch platform {
                case .fcm: FCMMessage.problem(ofSize: fcm(kept), FCMMessage.measuredShown)
                case .apns: APNsMessage.problem(ofSize: apns(kept), APNsMessage.measuredShown)
                }
            if let problem { return problem }
        }
        return nil
    }

    /// The languages to leave out, in their order; nil if nothing would be left.
    private func tooMany() -> [Int]? {
        var kept = Array(languages.indices)
        if isAll {
            while !kept.isEmpty, problem(with: kept) != nil {
                // The largest one, of several the last: so few of them go.
                let largest = kept.max { languages[$0].escapedEntry < languages[$1].escapedEntry }
                kept.removeAll { $0 == largest }
            }
        } else {
            kept.removeAll { problem(with: [$0]) != nil }
        }
        return kept.isEmpty ? nil : languages.indices.filter { !kept.contains($0) }
    }

    /// Of the largest message, in bytes.
    private func fcm(_ kept: [Int]) -> Int {
        size(kept, frame: fcmFrame, entry: \.entry, text: \.text)
    }

    private func apns(_ kept: [Int]) -> Int {
        size(kept, frame: apnsFrame, entry: \.escapedEntry, text: \.escapedText)
    }

    private func size(
        _ kept: [Int], frame: Int, entry: (BroadcastData.LanguageSize) -> Int,
        text: (BroadcastData.LanguageSize) -> Int
    ) -> Int {
        guard isAll else { return frame + (kept.map { entry(languages[$0]) + text(languages[$0]) }.max() ?? 0) }
        let entries = kept.reduce(0) { $0 + entry(languages[$1]) } + max(kept.count - 1, 0)
        return frame + entries + (kept.map { text(languages[$0]) }.max() ?? 0)
    }
}
