import Deliveries
import Delivery
import DispatchRecords
import Foundation
import KafkaClient
import Pipeline
import ProviderStandIn
import Replay
import Subscriptions
import Synchronization
import Telemetry

/// The demo's pushes, sent: a sender on the same embedded cluster, and stand-ins of both providers on loopback, which
/// find one device dead and are once too busy.
struct DemoDelivery {
    private let folder: String
    private let configuration: PipelineConfiguration
    private let logger: Logger
    private let servers: (fcm: StandInServer, apns: StandInServer)
    private let requests: DemoRequests

    /// - Parameter pushes: the records of the dispatch topic.
    init(_ demo: PipelineConfiguration, pushes: [ConsumerRecord], logger: Logger) throws {
        let folder = demo.stateDirectory + "-delivery"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let authority = try Authority()
        let fcm = try FCMStandIn(recordLimit: 0)
        let apns = try APNSStandIn(recordLimit: 0)
        let requests = DemoRequests()
        fcm.observe { record, _ in requests.add("fcm", "/v1/projects/\(FCMStandIn.projectID)/messages:send", record) }
        apns.observe { record, _ in requests.add("apns", "/3/device/…", record) }
        let tokens = DemoTokens(pushes)
        if let busy = tokens.fcm.first { fcm.set(.unavailable(nil), for: busy, times: 1) }
        if let dead = tokens.apns.first { apns.set(.unregistered(at: WallClock.now), for: dead) }
        servers = (
            try StandInServer(authority: authority) { fcm.answer($0) },
            try StandInServer(authority: authority) { apns.answer($0) }
        )
        try authority.pem.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
        try fcm.serviceAccount(servers.fcm).write(toFile: "\(folder)/fcm.json", atomically: true, encoding: .utf8)
        try apns.key.pem.write(toFile: "\(folder)/apns.p8", atomically: true, encoding: .utf8)
        var configuration = demo
        configuration.topics.dispatch += ".now"
        configuration.delivery.credentials = [
            DeliveryCredential(name: "fcm", source: .serviceAccount(file: "\(folder)/fcm.json")),
            DeliveryCredential(
                name: "apns",
                source: .providerKey(
                    file: "\(folder)/apns.p8", keyID: APNSStandIn.keyID, teamID: APNSStandIn.teamID)),
        ]
        configuration.delivery.fcmURL = "https://127.0.0.1:\(servers.fcm.port)"
        configuration.delivery.apnsURL = "https://127.0.0.1:\(servers.apns.port)"
        configuration.delivery.caFile = "\(folder)/ca.pem"
        configuration.delivery.retries = [.seconds(1)]
        configuration.delivery.reaps = false
        self.configuration = configuration
        self.folder = folder
        self.logger = logger
        self.requests = requests
    }

    /// The topics that only a sender needs: first the one with the pushes.
    var topics: [String] {
        [configuration.topics.dispatch, configuration.topics.deliveries]
            + configuration.delivery.retryTopics(of: configuration.topics.dispatch)
    }

    /// The pushes as they would be if their events were of today: the samples are years old, and what has expired is not
    /// sent.
    static func living(_ pushes: [ConsumerRecord]) -> [ProducerRecord] {
        let end = Array(String(WallClock.now + 3_600_000).utf8)
        return pushes.map { push in
            ProducerRecord(
                key: push.key, value: push.value,
                headers: push.headers.map {
                    $0.name == DispatchHeader.expiresAt.text ? RecordHeader($0.name, end) : $0
                })
        }
    }

    /// Sends until each push has its outcome.
    ///
    /// - Returns: a line for each request that the stand-ins got.
    func run(pushes: Int) async throws -> [String] {
        defer {
            servers.fcm.stop()
            servers.apns.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
        // The embedded cluster cannot list the groups of other lanes, which a lane's first start asks for: these begin at a
        // cut.
        let lanes = LaneGroups(configuration, logger: logger)
        let start = LaneCut(
            lanes: configuration.delivery.lanesHash, edges: try lanes.ends().mapValues { _ in LaneEdge(orders: 0) })
        try lanes.record(start)
        let service = DeliveryService(configuration: configuration, logger: logger)
        let running = Task { try await service.run() }
        let deadline = ContinuousClock.now + .seconds(60)
        while service.meter.reading.outcomes < pushes {
            guard .now < deadline else {
                running.cancel()
                _ = try? await running.value
                throw CommandFailure(.notInTime, "demo: waited for the outcomes for 60 s")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        service.shutdown()
        try await running.value
        return requests.lines
    }
}

/// The requests that the stand-ins got, as lines. Any thread.
private final class DemoRequests: Sendable {
    private let taken = Mutex<[String]>([])

    func add(_ platform: String, _ path: String, _ record: StandInRecord) {
        let answer = record.reason.map { "\(record.status) \($0)" } ?? "\(record.status)"
        let line =
            "request  \(platform)  device \(record.tokenHash.prefix(8))  POST \(path) (HTTP/2, \(record.body.count) bytes)  "
            + "answer \(answer)"
        taken.withLock { $0.append(line) }
    }

    var lines: [String] { taken.withLock { $0 } }
}

/// The devices' tokens, in the order of the pushes.
private struct DemoTokens {
    private(set) var fcm: [String] = []
    private(set) var apns: [String] = []

    init(_ pushes: [ConsumerRecord]) {
        for push in pushes {
            guard let token = PushPayload(value: push.value ?? [])?.tokens.first else { continue }
            let platform = push.headers.first { $0.name == DispatchHeader.platform.text }?.value
            if platform.map({ String(decoding: $0, as: UTF8.self) }) == Platform.fcm.rawValue {
                fcm.append(token)
            } else {
                apns.append(token)
            }
        }
    }
}
