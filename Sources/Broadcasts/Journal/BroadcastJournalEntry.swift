import Digests
import Pipeline

/// The record that each transaction of broadcasts writes about itself to `<topic.broadcasts>.journal`
/// (docs/broadcasts.md): what it has read and sent, for `carillon broadcast status` and `carillon explain --broadcast`.
package struct BroadcastJournalEntry: JournalDocument, Equatable, Sendable {
    package static let version = 3

    /// A half-open range of offsets of the subscriptions; `from` is the offset committed before.
    package struct Range: Codable, Equatable, Sendable {
        package var topic: String
        package var partition: Int32
        package var from: Int64
        package var to: Int64
        /// A joiner of the range that had left again below this offset got nothing; nil: `to`.
        package var ahead: Int64?
    }

    /// Which broadcast, in which partition of the subscriptions.
    package struct Subject: Equatable, Sendable {
        package var partition: Int32
        /// Its offset in `topic.broadcasts`.
        package var broadcast: Int64
        /// Nil where a pass ended because the broadcast was cancelled or replaced.
        package var notificationID: String?
        package var messageID: String?

        package init(partition: Int32, broadcast: Int64, notificationID: String?, messageID: String?) {
            self.partition = partition
            self.broadcast = broadcast
            self.notificationID = notificationID
            self.messageID = messageID
        }
    }

    /// A slice of a pass.
    package struct Slice: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case partition, broadcast
            case notificationID = "id"
            case messageID = "message_id"
            case joinedBelow = "s"
            case before = "k_before"
            case after = "k_after"
            case devices, sent, stale, end
        }

        package enum End: String, Codable, CaseIterable, Sendable {
            case done
            /// Cancelled, or replaced by a later record with its id.
            case cancelled
            case expired
            /// It cannot be rendered: it is a dead letter.
            case failed
        }

        private var partition: Int32
        private var broadcast: Int64
        private var notificationID: String?
        private var messageID: String?
        package var joinedBelow: Int64
        private var before: Base64Text?
        private var after: Base64Text?
        /// The devices that the pass goes over, counted when it began; only of its first slice.
        package var devices: Int?
        package var sent: Int
        /// Devices that were last seen too long ago.
        package var stale: Int
        /// Nil: the pass continues.
        package var end: End?

        package init(
            subject: Subject, joinedBelow: Int64, keyBefore: [UInt8]? = nil, keyAfter: [UInt8]? = nil,
            devices: Int? = nil, sent: Int = 0, stale: Int = 0, end: End? = nil
        ) {
            partition = subject.partition
            broadcast = subject.broadcast
            notificationID = subject.notificationID
            messageID = subject.messageID
            self.joinedBelow = joinedBelow
            before = keyBefore.map(Base64Text.init)
            after = keyAfter.map(Base64Text.init)
            self.devices = devices
            self.sent = sent
            self.stale = stale
            self.end = end
        }

        package var subject: Subject {
            Subject(partition: partition, broadcast: broadcast, notificationID: notificationID, messageID: messageID)
        }

        /// The hash of the last device that was looked at before the slice, 32 bytes.
        package var keyBefore: [UInt8]? { before?.bytes }

        /// The same after it.
        package var keyAfter: [UInt8]? {
            get { after?.bytes }
            set { after = newValue.map(Base64Text.init) }
        }
    }

    /// What joiners got of a broadcast.
    package struct Late: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case partition, broadcast
            case notificationID = "id"
            case messageID = "message_id"
            case sent
        }

        private var partition: Int32
        private var broadcast: Int64
        private var notificationID: String?
        private var messageID: String?
        package var sent: Int

        package init(subject: Subject, sent: Int) {
            partition = subject.partition
            broadcast = subject.broadcast
            notificationID = subject.notificationID
            messageID = subject.messageID
            self.sent = sent
        }

        package var subject: Subject {
            Subject(partition: partition, broadcast: broadcast, notificationID: notificationID, messageID: messageID)
        }
    }

    /// A broadcast without a pass.
    package struct Skipped: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case partition, broadcast
            case notificationID = "id"
            case reason
        }

        package enum Reason: String, Codable, CaseIterable, Sendable {
            case expired
            case deadLetter = "dead_letter"
        }

        package var partition: Int32
        package var broadcast: Int64
        /// Nil where the record does not say.
        package var notificationID: String?
        package var reason: Reason
    }

    package private(set) var v = Self.version
    package var group: String
    /// The cluster's id; nil where the broker does not report it.
    @Nullable package var cluster: String?
    package var dispatch: String
    package var ranges: [Range] = []
    /// The view of `topic.broadcasts` had everything below this offset.
    package var broadcasts: Int64 = 0
    /// Decides what has expired.
    @Milliseconds package var clock = .epoch
    package var passes: [Slice] = []
    package var late: [Late] = []
    package var skipped: [Skipped] = []
    /// The hash of the settings that decide payloads.
    package var rules: String

    package init(group: String, cluster: String?, dispatch: String, rules: String) {
        self.group = group
        self.cluster = cluster
        self.dispatch = dispatch
        self.rules = rules
    }
}

/// Bytes that JSON has as base64url.
private struct Base64Text: Codable, Equatable, Sendable {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = Base64URL.decode(try container.decode(String.self).utf8) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64url")
        }
        self.bytes = bytes
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: Base64URL.encode(bytes), as: UTF8.self))
    }
}
