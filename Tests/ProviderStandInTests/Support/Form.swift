import Synchronization

@testable import ProviderStandIn

/// What a stand-in has told its observer.
final class Observed: Sendable {
    private let told = Mutex<[(record: StandInRecord, fault: StandInFault?)]>([])

    var all: [(record: StandInRecord, fault: StandInFault?)] { told.withLock { $0 } }
    var first: StandInRecord? { all.first?.record }
    var accepted: Int { all.count { $0.record.reason == nil } }

    func add(_ record: StandInRecord, _ fault: StandInFault?) {
        told.withLock { $0.append((record, fault)) }
    }
}

extension StandInRequest {
    static func post(
        _ path: String, _ headers: [(name: String, value: String)], _ body: String
    ) -> StandInRequest {
        var request = StandInRequest(connection: 1)
        request.method = "POST"
        request.path = path
        request.headers = headers
        request.body = Array(body.utf8)
        return request
    }
}

extension StandInAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }
    subscript(header name: String) -> String? { headers.first { $0.name == name }?.value }
}
