import Testing

@testable import Delivery

@Suite("Readiness of a sender")
struct DeliveryReadinessTests {
    private func reasons(_ lane: DeliveryBoard.Lane?, isDraining: Bool = false) -> [String] {
        let board = DeliveryBoard()
        if let lane { board.set(lane, of: "fcm") }
        return DeliveryReadiness(board, lanes: ["fcm"], isDraining: isDraining).reasons
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

    @Test("A lane that has ended is not ready")
    func ended() {
        let board = DeliveryBoard()
        board.set(DeliveryBoard.Lane(isReading: true), of: "fcm")
        board.remove("fcm")
        #expect(!DeliveryReadiness(board, lanes: ["fcm"], isDraining: false).isReady)
    }
}
