import Digests
import NotificationPayload

/// Writes the dispatch records of a broadcast (docs/rules.md §14.2): once for each language what its devices share, then
/// each device's own part.
///
/// One per thread. The bytes of ``DispatchRecord/headers`` also point into the headers of the broadcast's own record,
/// which must outlive them. Allocates nothing per device.
package struct BroadcastRenderer: ~Copyable {
    /// Where the messages of a language end, from the token or the app on, in ``ends``.
    private struct Ends {
        var fcm: Range<Int>
        var apns: Range<Int>
    }

    private let language: RenderSettings.BroadcastLanguage
    private var data = BroadcastData()
    private var ends = ByteWriter(capacity: 32_768)
    /// By language; a single one for a broadcast that is not shown.
    private var messages: [Ends] = []
    private var choices = LocaleChoices()
    /// The message of the latest device.
    private var body = MessageBody()
    /// Whose end is in ``body``; nil: no device's.
    private var bodyIsFor: (platform: Platform, language: Int)?
    private var headers: MessageHeaders
    private let key = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)

    package init(settings: RenderSettings) {
        language = settings.broadcastLanguage
        headers = MessageHeaders(settings.optionalHeaders)
    }

    deinit {
        key.deallocate()
    }

    /// Prepares a broadcast for all devices.
    ///
    /// Returns why it cannot be sent; do not render it then. That is decided for all providers, whichever devices there
    /// are, so that every process decides the same.
    ///
    /// - Parameters:
    ///   - record: the broadcast's own, whose position is the header `source`.
    ///   - headers: those of the record.
    package mutating func begin(
        _ broadcast: BroadcastNotification, from record: EventRecord, of topic: String, headers own: [EventHeader]
    ) -> DeadLetter? {
        ends.removeAll()
        messages.removeAll(keepingCapacity: true)
        bodyIsFor = nil
        switch broadcast.content {
        case .display(let display):
            if let problem = problem(of: broadcast, display.texts) { return problem }
            choices.begin(display.texts.map(\.language))
            if language == .all { data.write(broadcast, texts: display.texts[...]) }
            for index in display.texts.indices {
                if language == .device { data.write(broadcast, texts: display.texts[index...index]) }
                write(BroadcastMessage(broadcast: broadcast, text: display.texts[index], language: language))
            }
        case .nonDisplay:
            let message = BroadcastMessage(broadcast: broadcast, text: nil, language: language)
            data.write(broadcast, texts: [])
            for platform in Platform.allCases {
                let problem =
                    switch platform {
                    case .fcm: FCMMessage.problem(ofSize: data.size)
                    case .apns: APNsMessage.problem(ofSize: message.writeAPNs(data.members.bytes, to: &body))
                    }
                if let problem { return problem }
            }
            choices.begin([])
            write(message)
        }
        headers.begin(broadcast, record, of: topic, own: own)
        return nil
    }

    /// The record for one device; valid until the next call of the renderer. `audience` is a header.
    package mutating func render(_ device: Device, audience: UnsafeRawBufferPointer) -> DispatchRecord {
        prepareBody(device.platform, choices.language(for: device.locale))
        body.removeFront()
        switch device.platform {
        case .fcm: FCMMessage.prepend(device, to: &body)
        case .apns: APNsMessage.prepend(device, to: &body)
        }
        Hex.write(device.hashStart, to: key)
        return DispatchRecord(
            key: UnsafeRawBufferPointer(start: key, count: 64), value: body.bytes,
            headers: headers.list(for: device, audience: audience))
    }

    /// Puts the end of this language into ``body``, unless it is there.
    private mutating func prepareBody(_ platform: Platform, _ language: Int) {
        if let bodyIsFor, bodyIsFor == (platform, language) { return }
        let range =
            switch platform {
            case .fcm: messages[language].fcm
            case .apns: messages[language].apns
            }
        body.removeAll()
        body.append(UnsafeRawBufferPointer(rebasing: ends.bytes[range]))
        bodyIsFor = (platform, language)
    }

    /// Adds the ends of a language; ``data`` has its members.
    private mutating func write(_ message: BroadcastMessage) {
        let start = ends.count
        message.writeFCM(data.members.bytes, to: &body)
        ends.append(body.bytes)
        let middle = ends.count
        _ = message.writeAPNs(data.members.bytes, to: &body)
        ends.append(body.bytes)
        messages.append(Ends(fcm: start..<middle, apns: middle..<ends.count))
    }

    /// Why a display broadcast is too large: measured with its first language alone, and from that with others.
    private mutating func problem(of broadcast: BroadcastNotification, _ texts: [Broadcast.Text]) -> DeadLetter? {
        data.write(broadcast, texts: texts[..<1])
        let first = BroadcastMessage(broadcast: broadcast, text: texts[0], language: language)
        let fcm = data.size + first.shownSize
        let apns = first.writeAPNs(data.members.bytes, to: &body)
        var languages: [BroadcastData.LanguageSize] = []
        for text in texts { languages.append(data.size(of: text)) }
        return BroadcastSizes(languages: languages, fcmOfFirst: fcm, apnsOfFirst: apns, language)
            .problem(names: texts.map(\.language))
    }
}
