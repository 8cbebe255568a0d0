import Notifications
import Pipeline
import Testing

@testable import Sender

let unavailable = Verdict.retry(reason: "UNAVAILABLE", counts: true, after: nil)

/// One process with partition 0.
struct Lane {
    static let clean = LaneOffset(offset: 0, partitions: 3)
    /// Nothing waits for the bound.
    static let ahead = LaneOffset(offset: 0, partitions: 3, sentBelow: 10_000)

    var core: LaneCore
    private var next: [Int64] = [0, 0]
    /// What was handed in, by the offsets of the topics.
    private var logs: [LaneStream: [Int64: (record: LaneRecord, note: RetryNote?, appendedAt: WallTime)]] = [:]

    /// - Parameters:
    ///   - committed: of the dispatch topic of orders.
    ///   - ends: of its topics.
    init(
        committed: LaneOffset = ahead, ends: [Int64] = [0, 0, 0, 0], isActive: Bool = true,
        hasBroadcasts: Bool = false, _ change: (inout LaneSettings) -> Void = { _ in }
    ) {
        var settings = LaneSettings(
            dispatchTopics: hasBroadcasts ? ["dispatch", "dispatch.broadcasts"] : ["dispatch"],
            partitions: 3, provider: .fcm, credentials: ["shop", "other"])
        change(&settings)
        core = LaneCore(settings)
        let rest = [LaneOffset](
            repeating: committed == Self.clean ? committed : Self.ahead, count: hasBroadcasts ? 7 : 3)
        core.assign(0, committed: [committed] + rest, ends: ends + (hasBroadcasts ? [0, 0, 0, 0] : []))
        core.recalled(0)
        guard isActive else { return }
        _ = core.takeTransaction(now: 0)
        core.committed()
    }

    static func record(
        _ kind: PushKind = .orders, _ source: Int64, device: UInt64 = 1, expiresAt: WallTime = 100_000_000,
        credential: Int? = 0, request: String? = nil, broadcast: Int64? = nil, audience: String? = nil,
        command: Int64? = nil
    ) -> LaneRecord {
        let headers = audience.map { [LaneRecord.Header(name: Array("audience".utf8), value: Array($0.utf8))] }
        return LaneRecord(
            kind: kind, partition: 0, source: source, device: device, deviceHash: String(repeating: "0a", count: 32),
            messageID: "\(kind == .orders ? "m" : "b")\(source)", platform: .fcm, credential: credential,
            expiresAt: expiresAt, requestID: request.map { Hash128($0) }, command: command, broadcast: broadcast,
            headers: headers ?? [])
    }

    mutating func dispatch(
        _ kind: PushKind = .orders, device: UInt64 = 1, expiresAt: WallTime = 100_000_000, credential: Int? = 0,
        request: String? = nil, broadcast: Int64? = nil, audience: String? = nil, command: Int64? = nil,
        now: WallTime = 0
    ) {
        let record = Self.record(
            kind, next[kind.index], device: device, expiresAt: expiresAt, credential: credential,
            request: request, broadcast: broadcast, audience: audience, command: command)
        logs[.dispatch(kind), default: [:]][record.source] = (record, nil, now)
        #expect(core.dispatch(record, now: now) == true)
        next[kind.index] += 1
    }

    /// Reads again what is wanted.
    ///
    /// - Returns: the sources of the records that were.
    @discardableResult
    mutating func readAgain(now: WallTime = 0) -> [Int64] {
        var sources: [Int64] = []
        for stream in core.settings.streams {
            var position: Int64 = 0
            while let offset = core.nextWanted(of: stream, 0, from: position) {
                position = offset + 1
                guard let entry = logs[stream]?[offset] else { continue }
                sources.append(entry.record.source)
                core.found(entry.record, entry.note, at: offset, of: stream, appendedAt: entry.appendedAt, now: now)
            }
        }
        return sources
    }

    /// The sources of the records that are sent now.
    mutating func send(now: WallTime = 0) -> [Int64] { core.takeRequests(now: now).map(\.record.source) }

    /// The message ids of the records that are sent now: m and the source of an order's, b and that of a broadcast's.
    mutating func sendNames(now: WallTime = 0) -> [String] { core.takeRequests(now: now).map(\.record.messageID) }

    mutating func exchange(_ verdict: Verdict, status: Int?, now: WallTime) {
        for request in core.takeRequests(now: now) {
            _ = core.answer(request.tag, verdict, status: status, now: now)
        }
    }

    mutating func commit(now: WallTime = 0) -> LaneTransaction {
        let transaction = core.takeTransaction(now: now) ?? LaneTransaction()
        core.committed()
        return transaction
    }

    /// Hands in a record of a retry topic, as it was written.
    mutating func retry(_ retry: LaneTransaction.Retry, at offset: Int64, now: WallTime) {
        let appendedAt = now - core.settings.tiers[retry.tier]
        logs[.tier(retry.record.kind, retry.tier), default: [:]][offset] = (retry.record, retry.note, appendedAt)
        #expect(
            core.retry(retry.record, retry.note, tier: retry.tier, at: offset, appendedAt: appendedAt, now: now) == true
        )
    }
}
