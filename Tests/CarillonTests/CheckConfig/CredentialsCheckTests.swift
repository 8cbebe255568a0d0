import Foundation
import TestSupport
import Testing

@Suite("check-config and the credentials of delivery")
struct CredentialsCheckTests {
    private let folder = TemporaryFolder()

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func write(_ name: String, _ contents: [UInt8], mode: mode_t = 0o600) throws {
        let path = "\(folder.path)/\(name)"
        try Data(contents).write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, mode) == 0)
    }

    /// `check-config` with this list of credentials.
    private func check(_ list: String, _ words: String...) throws -> CommandProcess {
        try write("list.json", Array(list.utf8))
        let arguments = [
            "check-config", "-b", "localhost:9092", "--set", "delivery.credentials=@\(folder.path)/list.json",
        ]
        return try CommandProcess.run(arguments + words, environment: ["HOME": "/home/x"])
    }

    private struct Report: Decodable {
        var problems: [String]
        var warnings: [String]
    }

    private func report(_ result: CommandProcess) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
    }

    private let apns =
        #"{"name":"team","provider":"apns","key_file":"team.p8","key_id":"KEYID123AB","team_id":"TEAMID123A"}"#

    @Test("files that can be used are no problem, and one credential a provider is no warning")
    func fine() throws {
        try write("shop.json", TestCredentials.serviceAccount())
        try write("team.p8", TestKeys.p256)
        let result = try check(#"[{"name":"shop","provider":"fcm","service_account":"shop.json"},\#(apns)]"#)
        #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
        #expect(result.output.contains("delivery.credentials"))
    }

    @Test(
        "a file that every user can read is a warning with the mode to set; one of a group, or a link to such a file, is none"
    )
    func readable() throws {
        let list = #"[{"name":"shop","provider":"fcm","service_account":"shop.json"},\#(apns)]"#
        try write("shop.json", TestCredentials.serviceAccount())
        try write("key", TestKeys.p256, mode: 0o640)
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/team.p8", withDestinationPath: "\(folder.path)/key")
        let fine = try check(list)
        #expect(fine.status == 0 && fine.errors.isEmpty, "\(fine.errors)")
        try write("key", TestKeys.p256, mode: 0o644)
        let open = try check(list)
        #expect(open.status == 0)
        #expect(
            open.errors
                == "carillon: warning: credential 'team': every user can read \(folder.path)/team.p8; protect it with chmod 600, or 640 for a group\n"
        )
    }

    @Test("each file that cannot be used: the credential, the file and what is wrong, and nothing of the file; 78")
    func problems() throws {
        try write("shop.json", TestCredentials.serviceAccount(["private_key": "SECRET-1"]))
        try write("token", Array("SECRET-2 SECRET-3".utf8))
        let list = """
            [{"name":"shop","provider":"fcm","service_account":"shop.json","apps":["a"]},
             {"name":"other","provider":"fcm","token_file":"token","project_id":"p","apps":["b"]},\(apns)]
            """
        let lines = [
            "delivery.credentials: credential 'shop': \(folder.path)/shop.json: private_key is not a private key in PEM",
            "delivery.credentials: credential 'other': \(folder.path)/token: it has more than a token",
            "delivery.credentials: credential 'team': \(folder.path)/team.p8: there is no such file",
        ]
        let result = try check(list)
        #expect(result.status == 78)
        for line in lines {
            #expect(result.errors.contains(line))
        }
        #expect(!(result.output + result.errors).contains("SECRET"))
        let machine = try check(list, "--json")
        #expect(machine.status == 78)
        #expect(try report(machine).problems.count == 3)
        #expect(!(machine.output + machine.errors).contains("SECRET"))
    }

    @Test("a provider without a credential is warned of, and an app that no record names")
    func warnings() throws {
        try write("shop.json", TestCredentials.serviceAccount())
        let list = """
            [{"name":"shop","provider":"fcm","service_account":"shop.json","apps":["com.shop"]},
             {"name":"rest","provider":"fcm","service_account":"shop.json"}]
            """
        let warnings = [
            "apns has no credential: its pushes are refused (no_credential)",
            "the records of FCM do not say their app without dispatch.headers=app, so none is sent with 'shop'",
        ]
        let result = try check(list)
        #expect(result.status == 0)
        #expect(result.errors == warnings.map { "carillon: warning: \($0)\n" }.joined())
        let machine = try check(list, "--json")
        #expect(machine.status == 0 && machine.errors.isEmpty)
        #expect(try report(machine).warnings == warnings)
        let apart = try check(list, "--set", "dispatch.headers=app", "--json")
        #expect(try report(apart).warnings == [warnings[0]])
    }

    @Test("without credentials nothing is said of delivery")
    func none() throws {
        let result = try CommandProcess.run(["check-config", "-b", "localhost:9092"], environment: ["HOME": "/home/x"])
        #expect(result.status == 0 && result.errors.isEmpty)
    }
}
