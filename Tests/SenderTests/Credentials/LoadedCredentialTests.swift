import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Sender

@Suite("Reading the files of credentials")
struct LoadedCredentialTests {
    private let folder = TemporaryFolder()

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func write(_ name: String, _ contents: [UInt8]) -> String {
        let path = "\(folder.path)/\(name)"
        #expect(FileManager.default.createFile(atPath: path, contents: Data(contents)))
        return path
    }

    private func read(_ source: ProviderCredential.Source) throws(CredentialError) -> LoadedCredential {
        try LoadedCredential.read(ProviderCredential(name: "shop", source: source))
    }

    private func problem(_ source: ProviderCredential.Source) -> String? {
        do {
            _ = try read(source)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("each source is read with what its provider needs")
    func sources() throws {
        guard
            case .serviceAccount(let account) = try read(
                .serviceAccount(file: write("shop.json", TestCredentials.serviceAccount())))
        else {
            Issue.record("no service account")
            return
        }
        #expect(account.projectID == "shop")
        guard
            case .token(let token, let project) = try read(
                .tokenFile(write("token", Array("made-up\n".utf8)), projectID: "shop-1"))
        else {
            Issue.record("no token")
            return
        }
        #expect(token == BearerToken("made-up".utf8) && project == "shop-1")
        guard
            case .providerKey(let key) = try read(
                .providerKey(file: write("key.p8", TestKeys.p256), keyID: "KEYID123AB", teamID: "TEAMID123A"))
        else {
            Issue.record("no key")
            return
        }
        #expect(key.keyID == "KEYID123AB" && key.teamID == "TEAMID123A")
    }

    @Test("a file that is not there, is a folder or is something else: its path and what is allowed")
    func errors() {
        let missing = "\(folder.path)/missing"
        for source: ProviderCredential.Source in [
            .serviceAccount(file: missing), .tokenFile(missing, projectID: "shop"),
            .providerKey(file: missing, keyID: "KEYID123AB", teamID: "TEAMID123A"),
        ] {
            #expect(problem(source) == "\(missing): there is no such file")
        }
        #expect(
            problem(.tokenFile(folder.path, projectID: "shop")) == "\(folder.path): it is a folder; allowed is a file")
        let secret = write("other", Array("SECRET 1".utf8))
        for source: ProviderCredential.Source in [
            .serviceAccount(file: secret), .tokenFile(secret, projectID: "shop"),
            .providerKey(file: secret, keyID: "KEYID123AB", teamID: "TEAMID123A"),
        ] {
            let text = problem(source)
            #expect(text?.hasPrefix("\(secret): ") == true && text?.contains("; allowed is") == true)
            #expect(text?.contains("SECRET") == false)
        }
    }

    @Test("a project that a URL's path cannot carry")
    func project() {
        let file = write("token", Array("made-up".utf8))
        for project in ["", "a/b", "a b", "ä"] {
            #expect(
                problem(.tokenFile(file, projectID: project))
                    == "\(file): its project_id is '\(project)'; allowed are letters, digits and the characters . : _ -"
            )
        }
    }

    @Test("what is read again is what the file has now")
    func changed() throws {
        let file = write("token", Array("one".utf8))
        _ = try read(.tokenFile(file, projectID: "shop"))
        _ = write("token", Array("two".utf8))
        guard case .token(let token, _) = try read(.tokenFile(file, projectID: "shop")) else {
            Issue.record("no token")
            return
        }
        #expect(token == BearerToken("two".utf8))
    }

    @Test("a file's changed contents are noticed once; one that is away has not changed")
    func version() throws {
        let file = write("key.p8", [1])
        var version = FileVersion(of: file)
        #expect(version.hasChanged() == false)
        for contents in [[1, 2], [1], []] as [[UInt8]] {
            _ = write("key.p8", contents)
            #expect(version.hasChanged() && !version.hasChanged())
        }
        try FileManager.default.removeItem(atPath: file)
        #expect(version.hasChanged() == false)
        _ = write("key.p8", [])
        #expect(version.hasChanged() == false)
        var late = FileVersion(of: "\(folder.path)/late.p8")
        _ = write("late.p8", [1])
        #expect(late.hasChanged() == true)
    }
}
