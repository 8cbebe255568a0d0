import Foundation
import FuzzSupport
import Pipeline

@testable import API
@testable import HTTPServer

/// The head of a request to the HTTP API as lines: method and target, then headers. It is routed, guarded and answered.
@c(LLVMFuzzerTestOneInput)
public func fuzzHead(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let text = String(decoding: input(data, size), as: UTF8.self)
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    let words = lines.removeFirst().split(separator: " ", maxSplits: 1)
    var request = IncomingRequest(
        method: words.first.map(String.init) ?? "", target: words.count > 1 ? String(words[1]) : "")
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        request.headers.append(.init(parts[0].lowercased(), parts.count > 1 ? String(parts[1]) : ""))
    }
    let head = RequestHead(request: request, isVersion10: false, size: 0, isInPlace: true)
    if head.problem(HTTPLimits()) == nil {
        expect(!request.headers.contains { $0.value.contains("\r\n") }, "no header has another one in it")
    }
    if let target = RequestTarget(request.target) {
        let texts = target.path + target.query.flatMap { [$0.name, $0.value] }
        for text in texts {
            expect(!text.unicodeScalars.contains { $0.value < 0x20 }, "no control character comes out of a target")
        }
        let again = "/" + target.path.map(encoded).joined(separator: "/")
        expect(RequestTarget(again)?.path == target.path, "encoded again the path is the same: \(again)")
    }
    _ = IdempotencyKey.read(request.target)
    _ = MediaType.isAcceptable("application/json", request.headers.map(\.value))
    request.peer = "::1"
    let client = ForwardedClient.address(of: request, trusting: everywhere)
    expect(IPAddress(client)?.description == client, "a client is an address: \(client)")
    switch handler.admit(request) {
    case .refuse(let response): check(response)
    case .read(_, let answer):
        guard case .now(let response) = answer(request) else { fail("the answer is not there") }
        check(response)
    }
    // The rest of the input is a file of keys, too.
    if let ring = try? KeyRing(json: Array(input(data, size))) {
        let again = must { try KeyRing(json: Array(ring.json.utf8)) }
        expect(again.entries == ring.entries, "written and read again the keys are the same")
    }
    return 0
}

private let key = must { try APIKey("crl_live_00000000_00000000000000000000000000000000000000000002SoMFA") }

private let everywhere = [IPNetwork("::/0")].compactMap(\.self)

private let handler = APIHandler(
    Router(
        ContractEndpoints.make { [:] } + [
            Endpoint(
                APIOperation(
                    "put", .put, "/v1/requests/{id}", "Sends.", scopes: [.send], body: .init(["type": "object"]),
                    responses: [])
            ) { call in
                expect(call.key?.id == key.id, "only who has the key is admitted")
                return .now(call.response(.accepted, [:]))
            }
        ]),
    KeyRing([KeyEntry(key, scopes: [.send])]), .live, rate: 1_000_000,
    proxies: everywhere,
    .init(now: { .init(milliseconds: 0) }, requestID: { "r" }, chance: { 0 }))

private func check(_ response: HTTPResponse) {
    let isJSON = (try? JSONSerialization.jsonObject(with: Data(response.body.utf8))) != nil
    expect(isJSON, "the answer is JSON: \(response.body)")
    expect(!response.body.contains("crl_live_"), "no answer has a key in it")
    for header in response.headers {
        expect(header.value.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }, "a header is text: \(header)")
    }
}

private func encoded(_ text: String) -> String {
    text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
