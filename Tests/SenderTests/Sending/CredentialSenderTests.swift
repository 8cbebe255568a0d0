import Foundation
import KafkaClient
import Notifications
import Pipeline
import ProviderStandIn
import Telemetry
import TestSupport
import Testing

@testable import Sender

@Suite("Credentials at work")
struct CredentialSenderTests {
    /// FCM's stand-in, and a service account for it in a file.
    private final class World {
        let folder: TemporaryFolder
        let fcm: FCMStandIn
        let server: StandInServer
        var settings = SenderConfiguration()

        init() throws {
            folder = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            let fcm = try FCMStandIn()
            let authority = try Authority()
            server = try StandInServer(authority: authority) { fcm.answer($0) }
            self.fcm = fcm
            settings.fcmURL = "https://127.0.0.1:\(server.port)"
            settings.caFile = "\(folder.path)/ca.pem"
            try authority.pem.write(toFile: "\(folder.path)/ca.pem", atomically: true, encoding: .utf8)
            try writeAccount()
        }

        var file: String { "\(folder.path)/account.json" }

        func writeAccount() throws {
            try fcm.serviceAccount(server).write(toFile: file, atomically: true, encoding: .utf8)
        }

        var credential: ProviderCredential {
            ProviderCredential(name: "shop", source: .serviceAccount(file: file))
        }

        func sender(
            logger: Logger = Logger(label: "test", level: .critical)
        ) throws -> CredentialSender {
            try CredentialSender(
                credential, settings, patience: .seconds(15), signal: QueueSignal(), logger: logger)
        }
    }

    private static func request(_ tag: UInt64, token: String = "device-1") -> LaneRequest {
        let value = #"{"message":{"token":"\#(token)","data":{"a":"b"},"android":{"ttl":"60s"}}}"#
        return LaneRequest(
            tag: tag,
            record: LaneRecord(
                partition: 0, source: 0, device: 0, deviceHash: String(repeating: "0", count: 64), messageID: "m",
                platform: .fcm, credential: 0, expiresAt: 10_000_000_000_000, value: Array(value.utf8)), credential: 0)
    }

    /// Ticks until the sender has a token, and sends; its result.
    private func exchange(
        _ sender: CredentialSender, _ tag: UInt64, now: WallTime
    ) throws -> CredentialSender.Result? {
        var reader = MessageReader()
        var answers = AnswerReader()
        let deadline = ContinuousClock.now + .seconds(20)
        var isSent = false
        while .now < deadline {
            _ = sender.tick(now: now)
            if !isSent, sender.isReady(now: now) {
                isSent = true
                #expect(sender.send([Self.request(tag)], &reader, now: now, at: .now).isEmpty)
            }
            if let result = sender.takeResults(&answers, now: now).first { return result }
        }
        return nil
    }

    @Test("It gets an access token by itself, and sends with it")
    func sends() throws {
        let world = try World()
        let sender = try world.sender()
        defer { sender.close() }
        #expect(!sender.isReady(now: 1_000_000))
        let result = try #require(try exchange(sender, 1, now: WallClock.now))
        #expect(result.tag == 1 && result.status == 200)
        guard case .accepted = result.verdict else {
            Issue.record("\(result.verdict)")
            return
        }
    }

    @Test("A token that the provider has revoked is refreshed once it was refused, and not for older requests")
    func refresh() throws {
        let world = try World()
        let sender = try world.sender()
        defer { sender.close() }
        let now = WallClock.now
        _ = try exchange(sender, 1, now: now)
        world.fcm.revokeTokens()
        let refused = try #require(try exchange(sender, 2, now: now))
        #expect(refused.verdict == .refreshCredential(reason: "UNAUTHENTICATED"))
        sender.refuseToken(of: 2, now: now)
        #expect(!sender.isReady(now: now))
        let again = try #require(try exchange(sender, 3, now: now))
        #expect(again.status == 200)
        // The answer to an older request, which had the revoked token.
        sender.refuseToken(of: 2, now: now)
        #expect(sender.isReady(now: now))
    }

    @Test("A changed file is taken up; one that cannot be used leaves the old one in place")
    func changedFile() throws {
        let world = try World()
        let sender = try world.sender()
        defer { sender.close() }
        let now = WallClock.now
        _ = try exchange(sender, 1, now: now)
        try "{}".write(toFile: world.file, atomically: true, encoding: .utf8)
        #expect(!sender.tick(now: now + 2_000))
        #expect(sender.isReady(now: now + 2_000))
        try (world.fcm.serviceAccount(world.server) + "\n").write(toFile: world.file, atomically: true, encoding: .utf8)
        #expect(sender.tick(now: now + 4_000))
    }

    @Test("Why there is no answer is the verdict's reason, is in the log once a minute, and is what a trial says")
    func cause() throws {
        let world = try World()
        let log = LogEntries()
        // FCM itself is at a port where nobody listens; the token endpoint answers.
        world.settings.fcmURL = "https://127.0.0.1:1"
        let sender = try world.sender(logger: Logger(label: "test", level: .warning, sink: log))
        defer { sender.close() }
        let now = WallClock.now
        for (tag, seconds) in [(1, 0), (2, 1), (3, 61)] as [(UInt64, Int64)] {
            let result = try #require(try exchange(sender, tag, now: now + seconds * 1_000))
            #expect(result.verdict == .retry(reason: "no_answer:refused", counts: false, after: nil))
        }
        #expect(log.messages.count == 2)
        let start = "credential 'shop' gets no answer: nothing listens at the port: "
        #expect(log.messages.allSatisfy { $0.hasPrefix(start) })
        world.settings.credentials = [world.credential]
        let trial = try #require(
            try CredentialTrial.run(world.settings, logger: Logger(label: "test", level: .critical)).first)
        guard case .failed(let why) = trial.outcome else {
            Issue.record("\(trial.outcome)")
            return
        }
        #expect(why.hasPrefix("nothing listens at the port: "))
    }

    @Test("What is made of a time before the process was stopped is not sent: the lane decides again")
    func stopped() throws {
        let world = try World()
        let sender = try world.sender()
        defer { sender.close() }
        let now = WallClock.now
        _ = try exchange(sender, 1, now: now)
        let before = world.server.counts.requests
        var reader = MessageReader()
        var answers = AnswerReader()
        for (tag, life) in [(2, 60_000), (3, 7_000)] as [(UInt64, Int64)] {
            var request = Self.request(tag)
            request.record.expiresAt = now + life
            #expect(sender.send([request], &reader, now: now, at: .now - .seconds(8)).isEmpty)
            var results: [CredentialSender.Result] = []
            let deadline = ContinuousClock.now + .seconds(20)
            while results.isEmpty, .now < deadline { results = sender.takeResults(&answers, now: now) }
            #expect(results.map(\.tag) == [tag] && results.allSatisfy { $0.verdict == nil })
        }
        #expect(world.server.counts.requests == before)
    }

    @Test("A record that is no message is refused, and the next one is sent")
    func unreadable() throws {
        let world = try World()
        let sender = try world.sender()
        defer { sender.close() }
        let now = WallClock.now
        _ = try exchange(sender, 1, now: now)
        var reader = MessageReader()
        var bad = Self.request(2)
        bad.record.value = Array("no JSON".utf8)
        let failed = sender.send([bad], &reader, now: now, at: .now)
        #expect(failed.map(\.tag) == [2] && failed.first?.problem == .unreadableRecord)
        #expect(try exchange(sender, 3, now: now)?.status == 200)
    }
}
