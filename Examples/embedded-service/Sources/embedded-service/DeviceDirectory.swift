import Pipeline
import Synchronization

/// The host's own tokens instead of notifications.subscriptions.
///
/// The workers call it from several threads concurrently and wait for the result, so it answers from memory. A resolver
/// that queries a database throws if the database is unreachable: the batch is then retried with backoff.
final class DeviceDirectory: TokenResolver {
    private struct Entry {
        var token: String
        var app: String
    }

    private let entries = Mutex<[String: [Entry]]>([:])

    func register(token: String, app: String, for audience: String) {
        entries.withLock { $0[audience, default: []].append(Entry(token: token, app: app)) }
    }

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {
        let entries = entries.withLock { $0 }
        for index in 0..<audiences.count {
            for entry in entries[audiences[index]] ?? [] {
                devices.append(token: entry.token, platform: .fcm, app: entry.app, to: index)
            }
        }
    }
}
