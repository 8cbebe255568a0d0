import Deliveries
import Digests
import Subscriptions

/// What a range of `notifications.deliveries` says about dead devices. Reads no clock and no log.
package struct DeadEvidence {
    /// How old evidence must be, in milliseconds: a device that registers again meanwhile is then in the table.
    package static let age: Int64 = 600_000
    /// The devices of one pass; the rest is left to the next one.
    package static let mostDevices = 250_000
    /// A credential with more dead devices than this is held, if it has enough answers to tell.
    static let (heldFrom, mostOfHundred) = (500, 5)

    /// Evidence is about a device as it was sent to.
    package struct Target: Hashable, Sendable {
        package var platform: Platform
        /// What it was sent as; nil if nothing names it. Only APNs answers about an app: FCM's tokens have no other.
        package var app: String?
        package var environment: PushEnvironment?
        package var credential: String
    }

    package struct Answers: Equatable, Sendable {
        package var all = 0
        package var dead = 0

        package init(all: Int = 0, dead: Int = 0) {
            self.all = all
            self.dead = dead
        }
    }

    /// Evidence later than this is not read yet, nor what comes after it in its partition.
    private let latest: WallTime
    private let limit: Int
    /// When each device was last known to be dead.
    private(set) var devices: [DeviceHash: [Target: WallTime]] = [:]
    package private(set) var answers: [String: Answers] = [:]
    /// Partitions that are not read further, by the offset to continue at.
    private(set) var cut: [Int32: Int64] = [:]
    /// By credential and partition, the first offset with evidence.
    private var first: [String: [Int32: Int64]] = [:]
    /// Whether there were too many devices for one pass.
    package private(set) var hasMore = false

    package init(now: WallTime, age: Int64 = Self.age, limit: Int = Self.mostDevices) {
        latest = now - age
        self.limit = limit
    }

    /// Takes a record, in offset order of its partition.
    package mutating func note(_ record: DeliveryRecord, partition: Int32, offset: Int64) {
        guard cut[partition] == nil else { return }
        if record.outcome == .deadDevice, let time = record.evidence, let device = DeviceHash(record.device),
            let credential = record.credential
        {
            guard time <= latest else {
                cut[partition] = offset
                return
            }
            guard devices[device] != nil || devices.count < limit else {
                (cut[partition], hasMore) = (offset, true)
                return
            }
            let target = Target(
                platform: record.platform, app: record.app, environment: record.environment, credential: credential)
            devices[device, default: [:]][target, default: time] = max(devices[device]?[target] ?? time, time)
            if first[credential]?[partition] == nil { first[credential, default: [:]][partition] = offset }
        }
        guard record.status != nil, let credential = record.credential else { return }
        answers[credential, default: Answers()].all += 1
        if record.outcome == .deadDevice { answers[credential, default: Answers()].dead += 1 }
    }

    package func isDead(_ device: DeviceHash) -> Bool { devices[device] != nil }

    /// The credentials that a person has to confirm: too large a part of their answers is about dead devices, or it was
    /// before and nobody has confirmed it yet.
    ///
    /// - Parameter before: hashes of those that were held.
    package func held(before: Set<String>) -> Set<String> {
        Set(
            answers.filter { credential, answers in
                before.contains(Self.hash(of: credential))
                    || answers.all >= Self.heldFrom && answers.dead * 100 > answers.all * Self.mostOfHundred
            }.keys)
    }

    /// Where to continue in each partition.
    ///
    /// - Parameters:
    ///   - ends: how far the partitions were read.
    ///   - held: credentials whose evidence is kept for later.
    package func next(_ ends: [Int32: Int64], keeping held: Set<String>) -> [Int32: Int64] {
        var next = ends.merging(cut) { min($0, $1) }
        for credential in held { next.merge(first[credential] ?? [:]) { min($0, $1) } }
        return next
    }

    /// A credential's name in the metadata of offsets, which has no room for any text.
    package static func hash(of credential: String) -> String { SHA256.hex(of: credential, digits: 8) }
}

extension DeadEvidence.Target {
    /// Whether the evidence is about what a subscription says: APNs answers for a token, an app and an environment, FCM
    /// for a token alone.
    func fits(_ version: LiveVersions.Version) -> Bool {
        guard platform == version.platform else { return false }
        return switch platform {
        case .fcm: true
        case .apns:
            (app ?? version.app) == version.app && (environment ?? version.environment) == version.environment
        }
    }
}
