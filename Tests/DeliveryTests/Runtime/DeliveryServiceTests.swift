import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Delivery

@Suite("The sender in a program of others")
struct DeliveryServiceTests {
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
