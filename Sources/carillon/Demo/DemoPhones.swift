import NotificationPayload
import ProviderStandIn
import Synchronization

/// What the stand-ins were asked to show, for the story to tell; after it, each is printed as it comes. Any thread.
final class DemoPhones: Sendable {
    struct Request: Sendable {
        let provider: StandInProviders.Provider
        let record: StandInRecord
    }

    private struct State {
        var untold: [Request] = []
        var isLive = false
    }

    private let state = Mutex(State())

    func add(_ provider: StandInProviders.Provider, _ record: StandInRecord) {
        let isLive = state.withLock { state in
            if !state.isLive { state.untold.append(Request(provider: provider, record: record)) }
            return state.isLive
        }
        if isLive { Terminal.write(PhoneLine.text(provider, record) + "\n") }
    }

    var count: Int { state.withLock { $0.untold.count } }

    /// What came since the last call, in the order of arrival.
    func take() -> [Request] {
        state.withLock { state in
            defer { state.untold = [] }
            return state.untold
        }
    }

    /// From now on each request is printed at once.
    func goLive() {
        state.withLock { $0.isLive = true }
    }
}

extension DemoPhones.Request {
    var push: ReceivedNotification { PhoneLine.received(provider, record.body) }

    /// `Anna (Android) shows "New order A-17: Wanted from 14:00 to 16:00."`
    var line: String {
        let name = DemoSamples.phones.first { $0.hash == record.tokenHash }?.name ?? record.tokenHash
        let told = record.reason.map { reason in
            "\(provider.name) answers \(record.status) \(reason)"
        }
        let link = push.deepLink(DemoSamples.links).map { "; a tap opens \($0)" } ?? ""
        return "   \(name): \(told ?? PushText.text(push) + link)"
    }
}
