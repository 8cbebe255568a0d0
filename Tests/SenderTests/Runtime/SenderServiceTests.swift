import Foundation
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Sender

@Suite("The sender in a program of others", .timeLimit(.minutes(30)))
struct SenderServiceTests {
    /// A sender with a file for a credential of each provider, whose broker is away.
    private func sender(
        fcm: String, apns: String, log: LogEntries = LogEntries(), metrics: Metrics = Metrics(), commands: String = "",
        reaps: Bool = true
    ) throws -> SenderService {
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "127.0.0.1:1"], stateDirectory: "", rules: try ExtractionRules())
        configuration.delivery.credentials = [
            ProviderCredential(name: "shop", source: .tokenFile(fcm, projectID: "shop-1")),
            ProviderCredential(name: "team", source: .providerKey(file: apns, keyID: "key", teamID: "team")),
        ]
        configuration.topics.commands = commands
        configuration.delivery.reaps = reaps
        return SenderService(
            configuration: configuration, logger: Logger(label: "test", sink: log), metrics: metrics)
    }

    @Test(
        "a provider whose credential cannot be read is left out, and says so; the others go on until the process ends")
    func oneLaneStops() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = "\(folder.path)/token"
        try "made-up\n".write(toFile: file, atomically: true, encoding: .utf8)
        let log = LogEntries()
        let service = try sender(fcm: file, apns: "/nowhere/key", log: log)
        let running = Task { try await service.run() }
        let reason = "nothing is sent to apns: delivery.credentials: /nowhere/key: there is no such file"
        // The run is a task among those of all other tests, which may keep it waiting for a minute.
        let deadline = ContinuousClock.now + .seconds(300)
        let said = "nothing is sent to this provider, and the others go on: "
        let hasSaid = { log.messages.contains { $0.hasPrefix(said) } }
        while !service.readiness.reasons.contains(reason) || !hasSaid(), .now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(service.readiness.reasons.contains("fcm has not begun to read"))
        #expect(service.readiness.reasons.contains(reason))
        #expect(hasSaid())
        service.shutdown()
        try await running.value
    }

    @Test(
        "without topic.commands it says once that dead devices stay, and counts so; not where they are not its task",
        arguments: [("", true, 1), ("", false, 0), ("notifications.commands", true, 0)])
    func deadDevicesStay(commands: String, reaps: Bool, warnings: Int) async throws {
        let (entries, metrics) = (LogEntries(), Metrics())
        let service = try sender(
            fcm: "/nowhere/a", apns: "/nowhere/b", log: entries, metrics: metrics, commands: commands, reaps: reaps)
        await #expect(throws: PipelineError.self) { try await service.run() }
        #expect(entries.messages.filter { $0.contains("so that dead devices stay subscribed") }.count == warnings)
        let text = metrics.snapshot().prometheusText()
        #expect(text.contains("carillon_dead_devices_stay \(commands.isEmpty ? 1 : 0)\n"))
    }

    @Test("a sender that can reach no provider ends, and says what is wrong with the first")
    func allLanesStop() async throws {
        let service = try sender(fcm: "/nowhere/a", apns: "/nowhere/b")
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
        // Two of one name, so that it ends before it asks a broker.
        configuration.delivery.credentials = .init(
            repeating: ProviderCredential(name: "shop", source: .tokenFile(file, projectID: "shop-1")), count: 2)
        for (mode, isOpen) in [(0o600, false), (0o644, true)] {
            #expect(FileManager.default.createFile(atPath: file, contents: Data("made-up\n".utf8)))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let entries = LogEntries()
            let service = SenderService(
                configuration: configuration, logger: Logger(label: "test", sink: entries))
            await #expect(throws: PipelineError.self) { try await service.run() }
            let warnings = entries.messages.filter { $0.contains("every user can read \(file)") }
            #expect(warnings.count == (isOpen ? 2 : 0), "\(warnings)")
        }
    }
}
