import Deliveries
import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Delivery

@Suite("The sender in a program of others", .timeLimit(.minutes(10)))
struct DeliveryServiceTests {
    /// A sender with a lane for each credential's file, whose broker is away.
    private func sender(_ files: [String], log: LogEntries = LogEntries()) throws -> DeliveryService {
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "127.0.0.1:1"], stateDirectory: "", rules: try ExtractionRules())
        configuration.delivery.lanes = try LaneMap("a:fcm/a, b:fcm, a:apns")
        configuration.delivery.credentials = zip(["a", "b"], files).map {
            DeliveryCredential(name: $0, source: .tokenFile($1, projectID: "shop-1"), apps: $0 == "a" ? ["a"] : [])
        }
        return DeliveryService(configuration: configuration, logger: Logger(label: "test", sink: log))
    }

    @Test("a lane whose credential cannot be read stops alone, and says so; the others go on until the process ends")
    func oneLaneStops() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = "\(folder.path)/token"
        try "made-up\n".write(toFile: file, atomically: true, encoding: .utf8)
        let log = LogEntries()
        let service = try sender([file, "/nowhere/token"], log: log)
        let running = Task { try await service.run() }
        let reason = "lane b has stopped: delivery.credentials: /nowhere/token: there is no such file"
        let deadline = ContinuousClock.now + .seconds(30)
        while !service.readiness.reasons.contains(reason) || log.messages.count < 2, .now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(service.readiness.reasons.contains("lane a has not begun to read"))
        #expect(service.readiness.reasons.contains(reason))
        #expect(log.messages.contains { $0.hasPrefix("the lane has stopped, and the others go on: ") })
        service.shutdown()
        try await running.value
    }

    @Test("a sender of which no lane can work ends, and says what is wrong with the first")
    func allLanesStop() async throws {
        let service = try sender(["/nowhere/a", "/nowhere/b"])
        let error = await #expect(throws: PipelineError.self) { try await service.run() }
        guard case .decisionNeeded = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("warns of a credential's file that every user can read, as the command does")
    func readable() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = "\(folder.path)/token"
        var configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: folder.path, rules: try ExtractionRules())
        configuration.delivery.credentials = [
            DeliveryCredential(name: "shop", source: .tokenFile(file, projectID: "shop-1"))
        ]
        for (mode, isOpen) in [(0o600, false), (0o644, true)] {
            #expect(FileManager.default.createFile(atPath: file, contents: Data("made-up\n".utf8)))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let entries = LogEntries()
            // There is no such lane, so that it ends before it asks a broker.
            let service = DeliveryService(
                configuration: configuration, lanes: ["nowhere"], logger: Logger(label: "test", sink: entries))
            await #expect(throws: PipelineError.self) { try await service.run() }
            let warnings = entries.messages.filter { $0.contains("every user can read \(file)") }
            #expect(warnings.count == (isOpen ? 1 : 0), "\(warnings)")
        }
    }
}
