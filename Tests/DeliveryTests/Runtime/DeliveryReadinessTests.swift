import Hosting
import Pipeline
import Testing

@testable import Delivery

@Suite("Readiness of a sender")
struct DeliveryReadinessTests {
    private func reasons(_ lane: DeliveryBoard.Lane?, isDraining: Bool = false) -> [String] {
        let board = DeliveryBoard()
        if let lane { board.set(lane, of: "fcm") }
        let host = RoleHost()
        if isDraining { host.drain() }
        return DeliveryReadiness(board, lanes: ["fcm"], host).reasons
    }

    @Test("A lane that reads is ready, also without partitions")
    func ready() {
        #expect(reasons(DeliveryBoard.Lane(isReading: true)) == [])
    }

    @Test("It says which lane or credential holds it up")
    func reasons() {
        #expect(reasons(nil) == ["lane fcm has not begun to read"])
        #expect(reasons(DeliveryBoard.Lane()) == ["lane fcm has not begun to read"])
        #expect(
            reasons(
                DeliveryBoard.Lane(isReading: true, isPaused: true, pausedCredentials: ["shop"], unready: ["other"]))
                == [
                    "lane fcm is paused: its provider fails",
                    "lane fcm is paused: the provider does not accept credential 'shop'",
                    "credential 'other' has no token",
                ])
        #expect(reasons(DeliveryBoard.Lane(isReading: true), isDraining: true) == ["it waits for the last answers"])
    }

    @Test("A lane that has stopped says why, and is shown until the process ends")
    func stopped() {
        let board = DeliveryBoard()
        board.set(DeliveryBoard.Lane(isReading: true), of: "fcm")
        board.stop("apns", because: "/keys/shop.p8: there is no such file")
        #expect(
            DeliveryReadiness(board, lanes: ["fcm", "apns"], RoleHost()).reasons
                == ["lane apns has stopped: /keys/shop.p8: there is no such file"])
    }

    @Test("A sender without a broker, or whose wall clock was set, is not ready, also before its lanes begin")
    func environment() throws {
        let configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        let service = DeliveryService(configuration: configuration)
        service.host.health.brokersAreDown("no route", of: "lane fcm")
        service.host.health.clockIsOff(90)
        let expected = ["the broker is unreachable: no route", "the wall clock is off by 90 s"]
        #expect(service.readiness.reasons == expected + ["it is not running"])
        let board = DeliveryBoard()
        board.set(DeliveryBoard.Lane(isReading: true), of: "fcm")
        #expect(DeliveryReadiness(board, lanes: ["fcm"], service.host).reasons == expected)
        service.host.health.consumerIsHopeless(true, of: "lane fcm")
        #expect(service.liveness.stuck == ["lane fcm"])
    }

    @Test("A lane that has ended is not ready")
    func ended() {
        let board = DeliveryBoard()
        board.set(DeliveryBoard.Lane(isReading: true), of: "fcm")
        board.remove("fcm")
        #expect(!DeliveryReadiness(board, lanes: ["fcm"], RoleHost()).isReady)
    }
}
