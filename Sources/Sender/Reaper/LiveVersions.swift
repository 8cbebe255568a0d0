import KafkaClient
import Notifications

/// The live subscriptions of the devices in evidence: the fold of `notifications.subscriptions` for these devices.
package struct LiveVersions {
    package struct Version: Equatable, Sendable {
        package var partition: Int32
        package var offset: Int64
        package var platform: Platform
        package var app: String
        package var environment: PushEnvironment
        /// The newest of when it was registered, last seen and written.
        package var newest: WallTime
    }

    package private(set) var versions: [[UInt8]: Version] = [:]

    /// Takes a record, in offset order of its partition. What is no subscription changes nothing, as in the table.
    package mutating func note(_ record: ConsumerRecord) {
        guard let key = record.key else { return }
        guard let value = record.value else {
            versions[key] = nil
            return
        }
        guard let subscription = try? Subscription.decode(key: key, value: value) else { return }
        let times = [subscription.registeredAt, subscription.lastSeenAt, record.timestamp]
        versions[key] = Version(
            partition: record.partition, offset: record.offset.value, platform: subscription.platform,
            app: subscription.app, environment: subscription.environment,
            // Without any time it cannot be told to be older.
            newest: times.compactMap { $0 }.max() ?? .distantFuture)
    }
}

/// A version that is dead by its evidence.
package struct DeadVersion: Equatable, Sendable {
    package var key: [UInt8]
    package var device: DeviceHash
    package var version: LiveVersions.Version
    package var credential: String
    package var evidence: WallTime

    /// The null that takes it out of the table, in its partition, which is that of the key.
    var tombstone: ProducerRecord {
        ProducerRecord(
            key: key, value: nil, headers: [ReapMark(evidence: evidence, judged: version.offset).recordHeader],
            partition: version.partition)
    }
}

extension DeadEvidence {
    /// The versions that are older than the evidence about them, in the order of partitions and offsets.
    ///
    /// - Parameter counts: which evidence does.
    package func dead(
        among live: LiveVersions, where counts: (Target, Finding) -> Bool = { _, _ in true }
    ) -> [DeadVersion] {
        live.versions.compactMap { key, version in
            guard let device = key.withUnsafeBytes({ DeviceHash(ofKey: $0) }) else { return nil }
            let newest = (devices[device] ?? [:])
                .filter { $0.key.fits(version) && version.newest < $0.value.evidence && counts($0.key, $0.value) }
                .max { ($0.value.evidence, $0.key.credential) < ($1.value.evidence, $1.key.credential) }
            return newest.map {
                DeadVersion(
                    key: key, device: device, version: version, credential: $0.key.credential,
                    evidence: $0.value.evidence)
            }
        }
        .sorted { ($0.version.partition, $0.version.offset) < ($1.version.partition, $1.version.offset) }
    }
}
