import Notifications
import Pipeline

/// What became of pushes, counted. A pure value; its size does not depend on the number of outcomes.
package struct DeliverySummary: Sendable {
    /// What outcomes are told apart by.
    package struct Group: Hashable, Sendable, Encodable {
        package var credential: String?
        package var platform: Platform
        package var app: String?
        package var outcome: DeliveryOutcome
        package var status: Int?
        package var reason: String?
    }

    package struct Tally: Equatable, Sendable, Encodable {
        package var count = 0
        package var attempts = 0
        /// From the first to the last request, of those that had one.
        package var time = DeliveryHistogram()

        private enum CodingKeys: String, CodingKey { case outcomes, requests, p50Ms, p99Ms }

        package func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(count, forKey: .outcomes)
            try members.encode(attempts, forKey: .requests)
            try members.encodeIfPresent(time.quantile(0.5), forKey: .p50Ms)
            try members.encodeIfPresent(time.quantile(0.99), forKey: .p99Ms)
        }

        mutating func note(_ record: DeliveryRecord) {
            count += 1
            attempts += record.attempts
            if let first = record.firstSentAt, let last = record.lastSentAt { time.note(last - first) }
        }
    }

    /// What receipts are told apart by.
    package struct ReceiptGroup: Hashable, Sendable {
        package var platform: Platform
        package var app: String
    }

    /// More are counted together: providers' reasons are theirs to invent.
    package static let mostGroups = 1_000

    package private(set) var groups: [Group: Tally] = [:]
    package private(set) var total = Tally()
    /// Of the groups for which there was no room.
    package private(set) var others = Tally()
    /// Records that are no outcomes.
    package var unreadable = 0

    private var recentReceipts = RecentReceipts()
    package private(set) var receipts: [ReceiptGroup: [Receipt.Kind: Int]] = [:]
    /// Of apps for which there was no room.
    package private(set) var otherReceipts = 0
    /// Why it is not known what phones have said; nil: it is.
    package var receiptsUnknown: String?

    /// Counts one of a push and kind once: a phone may say it again to another process of the API.
    package mutating func note(_ receipt: Receipt) {
        guard recentReceipts.insert(receipt) else { return }
        let group = ReceiptGroup(platform: receipt.platform, app: receipt.app)
        guard receipts[group] != nil || receipts.count < Self.mostGroups else {
            otherReceipts += 1
            return
        }
        receipts[group, default: [:]][receipt.kind, default: 0] += 1
    }

    package mutating func note(_ record: DeliveryRecord) {
        total.note(record)
        let group = Group(
            credential: record.credential, platform: record.platform, app: record.app,
            outcome: record.outcome, status: record.status, reason: record.reason)
        guard groups[group] != nil || groups.count < Self.mostGroups else { return others.note(record) }
        groups[group, default: Tally()].note(record)
    }
}
