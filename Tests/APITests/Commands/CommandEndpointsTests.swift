import HTTPServer
import Notifications
import Registrar
import Testing

@testable import API

@Suite("API: what became of a command") struct CommandEndpointsTests {
    private let key = APIKey(.live)

    private func call(_ change: (inout Call) throws -> Void) rethrows -> Call {
        var call = Call(IncomingRequest(method: "GET", target: "/"), id: "req_1")
        try change(&call)
        return call
    }

    @Test("it is for whoever has sent the command, and for keys that may look at everything")
    func caller() throws {
        let own = call { $0.key = KeyEntry(key, scopes: [.writeDevices]) }
        #expect(Author.key(key.id).isCaller(own) && !Author.key("other").isCaller(own))
        let looking = call { $0.key = KeyEntry(key, scopes: [.readTraces]) }
        #expect(Author.key("other").isCaller(looking) && Author.sender.isCaller(looking))
        let shop = try Shop.shared()
        let user = try call { $0.user = try shop.verifier().verify(try shop.token(), at: Shop.now) }
        #expect(Author.user("17", issuedAt: Shop.now).isCaller(user))
        #expect(!Author.user("18", issuedAt: Shop.now).isCaller(user) && !Author.key(key.id).isCaller(user))
        let credential = DeviceCredential("installation-0001:" + APIKey.randomDigits(43)[...])
        let device = call { $0.credential = credential }
        #expect(Author.device(try #require(credential).hash).isCaller(device) && !Author.device("0").isCaller(device))
        #expect(!Author.sender.isCaller(device))
    }

    @Test(
        "the answer has the verdict with what belongs to it",
        arguments: [
            (CommandFate.recorded, #"{"status":"recorded"}"#),
            (.decided(.created(revision: 7)), #"{"status":"decided","verdict":"created","revision":7}"#),
            (.decided(.erased(devices: 2)), #"{"status":"decided","verdict":"erased","devices":2}"#),
            (.decided(.refused(.notFound)), #"{"status":"decided","verdict":"refused","reason":"not_found"}"#),
            (.decided(.gone), #"{"status":"decided","verdict":"gone"}"#),
        ])
    func members(fate: CommandFate, text: String) {
        #expect(Document.object(fate.members).json == text)
    }
}
