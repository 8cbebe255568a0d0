import Foundation
import Testing

@testable import receiving_app

@Suite("What the app is registered by")
struct RegistrationTests {
    @Test("what is stored is read again, by its owner alone; before that there is nothing")
    func store() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "phone-\(UUID()).json").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = FileInstallations(path: path)
        #expect(try store.load() == nil)
        try store.save("1")
        try store.save("2")
        #expect(try store.load() == "2")
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(permissions == 0o600)
    }

    @Test(
        "a command line without an address, a store, or the value of an option is refused",
        arguments: [
            "", "http://127.0.0.1:1", "http://127.0.0.1:1 --store", "http://127.0.0.1:1 --fid f", "--store s",
            "a --x y",
        ])
    func refused(_ line: String) {
        #expect(Registration(line.split(separator: " ").map(String.init)) == nil)
    }
}
