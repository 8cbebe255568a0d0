import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The hash of the rules")
struct RulesHashTests {
    @Test("§8.9: the badge for FCM devices is part of the hash only where it is on")
    func notificationCount() throws {
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        let usual = configuration.rulesHash
        configuration.rendering.sendsNotificationCount = true
        let on = configuration.rulesHash
        configuration.rendering.sendsNotificationCount = false
        #expect(on != usual)
        #expect(configuration.rulesHash == usual)
    }

    @Test("how many devices and bytes an event may have is part of the hash, since it decides what is sent")
    func bounds() throws {
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        let usual = configuration.rulesHash
        configuration.maxBytesPerEvent += 1
        let larger = configuration.rulesHash
        #expect(larger != usual)
        configuration.maxDevicesPerEvent -= 1
        #expect(configuration.rulesHash != larger)
    }

    @Test("§14.2: the language of broadcasts is no part of the hash, since the pipeline sends none")
    func broadcastLanguage() throws {
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        let usual = configuration.rulesHash
        configuration.rendering.broadcastLanguage = .device
        #expect(configuration.rulesHash == usual)
    }
}
