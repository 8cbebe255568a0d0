import Hosting
import Pipeline
import Testing

@testable import Sender

@Suite("Readiness of a sender")
struct SenderReadinessTests {
    private func reasons(_ lane: SenderBoard.Lane?, isDraining: Bool = false) -> [String] {
        let board = SenderBoard()
        if let lane { board.set(lane, of: .fcm) }
        let host = RoleHost()
        if isDraining { host.drain() }
        return SenderReadiness(board, [.fcm], host).reasons
    }

    @Test("A lane that reads is ready, also without partitions")
    func ready() {
        #expect(reasons(SenderBoard.Lane(isReading: true)) == [])
    }

    @Test("It says which provider or credential holds it up")
    func reasons() {
        #expect(reasons(nil) == ["fcm has not begun to read"])
        #expect(reasons(SenderBoard.Lane()) == ["fcm has not begun to read"])
        #expect(
            reasons(
                SenderBoard.Lane(isReading: true, isPaused: true, pausedCredentials: ["shop"], unready: ["other"]))
                == [
                    "fcm is paused: the provider fails",
                    "credential 'shop' is paused: fcm does not accept it",
                    "credential 'other' has no token",
                ])
        #expect(reasons(SenderBoard.Lane(isReading: true), isDraining: true) == ["it waits for the last answers"])
    }

    @Test("A lane that has stopped says why, and is shown until the process ends")
    func stopped() {
        let board = SenderBoard()
        board.set(SenderBoard.Lane(isReading: true), of: .fcm)
        board.stop(.apns, because: "/keys/shop.p8: there is no such file")
        #expect(
            SenderReadiness(board, [.fcm, .apns], RoleHost()).reasons
                == ["nothing is sent to apns: /keys/shop.p8: there is no such file"])
    }

    @Test("A sender without a broker, or whose wall clock was set, is not ready, also before its lanes begin")
    func environment() throws {
        let configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        let service = SenderService(configuration: configuration)
        service.host.health.brokersAreDown("no route", of: "fcm")
        let now = ContinuousClock.now
        let (clock, logger) = (service.host.clock, Logger(label: "test", level: .critical))
        clock.compare(with: clock.now(now) + 90_000, now: now, logger)
        let expected = ["the broker is unreachable: no route", "the wall clock is off by 90 s"]
        #expect(service.readiness.reasons == expected + ["it is not running"])
        let board = SenderBoard()
        board.set(SenderBoard.Lane(isReading: true), of: .fcm)
        #expect(SenderReadiness(board, [.fcm], service.host).reasons == expected)
        service.host.health.consumerIsHopeless(true, of: "fcm")
        #expect(service.liveness.stuck == ["fcm"])
    }

    @Test("A lane that has ended is not ready")
    func ended() {
        let board = SenderBoard()
        board.set(SenderBoard.Lane(isReading: true), of: .fcm)
        board.remove(.fcm)
        #expect(!SenderReadiness(board, [.fcm], RoleHost()).isReady)
    }
}
