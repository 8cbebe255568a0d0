import HTTPClient
import KafkaSimulation

@testable import Sender

/// FCM, as its clients see it: answers come out of order, late or never, and in an outage all fail.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
final class SimulatedProvider: @unchecked Sendable {
    private static let unregistered =
        #"{"error":{"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}"#

    let baton: Baton
    private let isFaulty: Bool
    private let outage: Range<Duration>
    private var tokens = 0
    /// How often it took each push; and those that it refused, and of which it said that their devices are gone.
    private(set) var accepted: [LaneSimulation.ID: Int] = [:]
    private(set) var refused: Set<LaneSimulation.ID> = []
    private(set) var dead: Set<LaneSimulation.ID> = []
    /// Requests of which nobody knows whether they have arrived.
    var unanswered = 0

    init(_ baton: Baton, isFaulty: Bool, outage: Range<Duration>) {
        self.baton = baton
        self.isFaulty = isFaulty
        self.outage = outage
    }

    struct Answer {
        var status = 200
        var body = "{}"
        var retryAfter: Int?
        /// It knows that it did not take the push, which is sent again.
        var isOfCredential = false
    }

    private func chance(_ perMille: Int) -> Bool { isFaulty && baton.draw(1...1_000) <= perMille }

    func token() -> Answer {
        if chance(100) { return Answer(status: 503) }
        tokens += 1
        return Answer(body: #"{"access_token":"t\#(tokens)","expires_in":3600}"#)
    }

    /// - Returns: nil: there is none.
    func answer(to id: LaneSimulation.ID) -> Answer? {
        if outage.contains(baton.now) || chance(80) {
            return Answer(status: 503, retryAfter: chance(300) ? 2 : nil)
        }
        if chance(40) {
            return Answer(status: 429, retryAfter: chance(700) ? 3 : nil)
        }
        if chance(40) {
            unanswered += 1
            if chance(700) { accepted[id, default: 0] += 1 }
            return nil
        }
        if chance(20) { return Answer(status: 401, isOfCredential: true) }
        if chance(3) { return Answer(status: 403, isOfCredential: true) }
        if chance(30) {
            refused.insert(id)
            return Answer(status: 400, body: #"{"error":{"status":"INVALID_ARGUMENT"}}"#)
        }
        if chance(30) {
            dead.insert(id)
            return Answer(status: 404, body: Self.unregistered)
        }
        accepted[id, default: 0] += 1
        return Answer(body: #"{"name":"projects/shop/messages/1"}"#)
    }
}
