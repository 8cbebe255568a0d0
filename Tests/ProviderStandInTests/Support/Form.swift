@testable import ProviderStandIn

extension StandInRequest {
    static func post(
        _ path: String, _ headers: [(name: String, value: String)], _ body: String, openStreams: Int = 1
    ) -> StandInRequest {
        var request = StandInRequest(connection: 1)
        request.method = "POST"
        request.path = path
        request.headers = headers
        request.body = Array(body.utf8)
        request.openStreams = openStreams
        return request
    }
}

extension StandInAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }
    subscript(header name: String) -> String? { headers.first { $0.name == name }?.value }
}
