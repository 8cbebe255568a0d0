import Foundation
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("The sender in a program of others")
struct DeliveryServiceTests {
    private final class Entries: LogSink {
        let messages = Mutex<[String]>([])

        func write(_ entry: LogEntry) { messages.withLock { $0.append(entry.message) } }
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
            let entries = Entries()
            // There is no such lane, so that it ends before it asks a broker.
            let service = DeliveryService(
                configuration: configuration, lanes: ["nowhere"], logger: Logger(label: "test", sink: entries))
            await #expect(throws: PipelineError.self) { try await service.run() }
            let warnings = entries.messages.withLock { $0 }.filter { $0.contains("every user can read \(file)") }
            #expect(warnings.count == (isOpen ? 1 : 0), "\(warnings)")
        }
    }
}
