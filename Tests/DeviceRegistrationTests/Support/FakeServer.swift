import NotificationPayload
import Synchronization

@testable import DeviceRegistration

/// The operations of devices as docs/api.md has them, without a registrar.
final class FakeServer: Sendable {
    struct Device: Equatable {
        var person: String?
        var address: String?
        var locale: String?
        var audiences: [String] = []
        var generation = 0
        var secret = ""
    }

    struct Request: Equatable {
        var method: String
        var path: String
        /// `Bearer` or `Device`
        var scheme: String
        var body: PushValue?
    }

    struct State {
        var devices: [String: Device] = [:]
        var requests: [Request] = []
        /// What comes next, in place of the right answer: nil is no answer at all.
        var faults: [RegistrationResponse?] = []
        /// By person: the tokens that are accepted.
        var tokens: [String: String] = [:]
        var secrets = 0
    }

    let state = Mutex(State())

    var requests: [String] { state.withLock { $0.requests.map { "\($0.scheme) \($0.method) \($0.path)" } } }
    var devices: [String: Device] { state.withLock { $0.devices } }

    /// The next answers, in place of the right ones.
    func answer(_ faults: RegistrationResponse?...) { state.withLock { $0.faults += faults } }

    struct NoAnswer: Error {}

    func take(_ request: RegistrationRequest) throws -> RegistrationResponse {
        try state.withLock { state in
            let words = request.authorization.split(separator: " ", maxSplits: 1).map(String.init)
            // /v1/devices/ID, and what is behind it
            let id = request.path.dropFirst("/v1/devices/".count).prefix { $0.isHexDigit }
            let path = String(request.path[id.endIndex...].drop { $0 == "/" })
            let body = request.body.flatMap { PushValue(json: $0) }
            state.requests.append(Request(method: request.method, path: path, scheme: words[0], body: body))
            if !state.faults.isEmpty {
                guard let fault = state.faults.removeFirst() else { throw NoAnswer() }
                return fault
            }
            return Self.answer(request.method, String(id), path, words, body, &state)
        }
    }

    private static func answer(
        _ method: String, _ id: String, _ path: String, _ authorization: [String], _ body: PushValue?,
        _ state: inout State
    ) -> RegistrationResponse {
        guard authorization[0] == "Bearer" else {
            guard let device = state.devices[id], authorization[1] == "\(id):\(device.secret)", method != "PUT" else {
                return problem(404, "not-found")
            }
            return change(method, id, path, nil, body, &state)
        }
        guard let user = state.tokens.first(where: { $0.value == authorization[1] })?.key else {
            return problem(401, "expired-token")
        }
        if let device = state.devices[id], device.person != user {
            guard device.address != nil, device.address == body?["address"]?["value"]?.string else {
                return problem(404, "not-found")
            }
        }
        return change(method, id, path, user, body, &state)
    }

    private static func change(
        _ method: String, _ id: String, _ path: String, _ user: String?, _ body: PushValue?, _ state: inout State
    ) -> RegistrationResponse {
        let before = state.devices[id]
        var device = before ?? Device()
        if method == "DELETE" {
            device.person = nil
            device.audiences.removeAll { !$0.hasPrefix("channel/") }
            state.devices[id] = path == "person" ? device : nil
            return RegistrationResponse(status: 204)
        }
        let (generation, address) = (body?["generation"]?.int, body?["address"]?["value"]?.string)
        if let generation, generation < device.generation { return problem(409, "stale-generation") }
        let asksSecret = path == "?new_secret=1"
        if asksSecret, before != nil, device.address != address { return problem(404, "not-found") }
        if let user {
            guard body?["person"]?.string == user else { return problem(403, "audience-not-allowed") }
            device.person = user
            device.audiences = body?["audiences"]?.array?.compactMap(\.string) ?? []
        }
        (device.address, device.locale) = (address, body?["locale"]?.string)
        device.generation = generation ?? device.generation
        var members: [String: PushValue] = ["generation": .number("\(device.generation)")]
        if before == nil || asksSecret {
            state.secrets += 1
            device.secret = "secret-\(state.secrets)"
            members["secret"] = .string(device.secret)
        }
        state.devices[id] = device
        return RegistrationResponse(status: before == nil ? 201 : 200, body: PushValue.object(members).json)
    }

    static func problem(_ status: Int, _ code: String) -> RegistrationResponse {
        RegistrationResponse(
            status: status,
            body: PushValue.object([
                "code": .string(code), "detail": .string("a sentence"), "status": .number("\(status)"),
            ])
            .json)
    }
}
