import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite("The list of delivery.credentials (docs/delivery.md)")
struct ProviderCredentialTests {
    private let folder = TemporaryFolder()

    private func load(_ value: String) -> LoadedConfiguration {
        LoadedConfiguration.of(["delivery.credentials": value])
    }

    private func load(list: String) throws -> LoadedConfiguration {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(list.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/list.json"))
        return load("@\(folder.path)/list.json")
    }

    /// What the message says after what is allowed.
    private func problems(_ list: String) throws -> [String] {
        let found = try load(list: list).problems
        #expect(found.count == 1)
        let message = try #require(found.first?.description)
        let allowed =
            "--set (delivery.credentials): '@\(folder.path)/list.json' is not allowed; it must be @FILE with a JSON list "
            + #"such as [{"name":"shop","provider":"fcm","service_account":"shop.json"}]; "#
        #expect(message.hasPrefix(allowed), "\(message)")
        return message.dropFirst(allowed.count).components(separatedBy: "; credential ").enumerated().map {
            $0.offset == 0 ? $0.element : "credential " + $0.element
        }
    }

    @Test("each source, with paths relative to the list's folder")
    func sources() throws {
        let list = """
            [{"name":"shop","provider":"fcm","service_account":"keys/shop.json","apps":["com.shop","com.shop.pro"]},
             {"name":"other","provider":"fcm","token_file":"/run/token","project_id":"other-1"},
             {"name":"team","provider":"apns","key_file":"../team.p8","key_id":"KEYID123AB","team_id":"TEAMID123A",
              "apps":["com.shop"],"environments":["production","development"]}]
            """
        let found = try load(list: list).checked().delivery.credentials
        let path = folder.path
        #expect(
            found == [
                ProviderCredential(
                    name: "shop", source: .serviceAccount(file: "\(path)/keys/shop.json"),
                    apps: ["com.shop", "com.shop.pro"]),
                ProviderCredential(name: "other", source: .tokenFile("/run/token", projectID: "other-1")),
                ProviderCredential(
                    name: "team",
                    source: .providerKey(
                        file: "\(path)/../team.p8", keyID: "KEYID123AB", teamID: "TEAMID123A"),
                    apps: ["com.shop"], environments: [.production, .development]),
            ])
        #expect(found.map(\.platform) == [.fcm, .fcm, .apns])
    }

    @Test("all problems of all credentials at once, each with the credential and what is allowed")
    func allAtOnce() throws {
        let list = """
            ["shop",
             {"provider":"fcm","service_account":"a.json"},
             {"name":"a b","provider":"fcm","service_account":"a.json"},
             {"name":"sms","provider":"sms"},
             {"name":"none","provider":"fcm"},
             {"name":"both","provider":"fcm","token_file":"t","project_id":"p","service_account":"a.json"},
             {"name":"typo","provider":"fcm","service_account":"a.json","app":["a"]},
             {"name":"fcm","provider":"fcm","service_account":"a.json","environments":["production"]},
             {"name":"apns","provider":"apns","key_file":"","key_id":7,"environments":["test"],"apps":"a"},
             {"name":"empty","provider":"fcm","service_account":"a.json","apps":[]},
             {"name":"mixed","provider":"fcm","service_account":"a.json","apps":["a",1]},
             {"name":"twice","provider":"fcm","service_account":"a.json","service_account":"b.json"}]
            """
        let texts = "must be a list of texts that are not empty"
        #expect(
            try problems(list) == [
                "credential 1 is no object",
                "credential 2 needs name, a text that is not empty",
                "credential 3 has the name 'a b'; allowed are letters, digits, '.', '_' and '-', at most 200",
                "credential 'sms' has the provider 'sms'; allowed are fcm and apns",
                "credential 'none' needs service_account, or token_file and project_id",
                "credential 'both' has the member 'service_account'; allowed are name, provider, apps, token_file, project_id",
                "credential 'typo' has the member 'app'; allowed are name, provider, apps, service_account",
                "credential 'fcm' has the member 'environments'; allowed are name, provider, apps, service_account",
                "credential 'apns' needs key_file, a text that is not empty",
                "credential 'apns' needs key_id, a text that is not empty",
                "credential 'apns' needs team_id, a text that is not empty",
                "credential 'apns' has apps, which \(texts)",
                "credential 'apns' has the environment 'test'; allowed are production and development",
                "credential 'empty' has apps, which \(texts)",
                "credential 'mixed' has apps, which \(texts)",
                "credential 'twice' has the member 'service_account' twice",
            ])
    }

    @Test("a file that is no list, is empty or cannot be read")
    func noList() throws {
        for text in ["", "[", "shop"] { #expect(try problems(text) == ["it is no JSON"]) }
        #expect(try problems("{}") == ["it is no list of credentials"])
        #expect(try problems("[]") == ["it is an empty list"])
        #expect(
            load("@/nowhere/list.json").problems.first?.message.hasPrefix(
                "'@/nowhere/list.json' cannot be read: /nowhere/list.json: No such file or directory; it must be @FILE")
                == true)
        #expect(load("list.json").problems.first?.message.contains("it must be @FILE with a JSON list") == true)
        #expect(try load("").checked().delivery.credentials == [])
    }

    @Test("two credentials of one app are a problem of the configuration")
    func twice() throws {
        let list = """
            [{"name":"shop","provider":"fcm","service_account":"shop.json","apps":["com.shop"]},
             {"name":"old","provider":"fcm","service_account":"old.json","apps":["com.old","com.shop"]}]
            """
        #expect(
            try load(list: list).problems.map(\.description) == [
                "delivery.credentials: the credentials 'shop' and 'old' both have the app 'com.shop'"
            ])
    }

    @Test("the examples of docs/delivery.md are lists of credentials that fit together")
    func page() throws {
        let blocks = try Page("docs/delivery.md").text().components(separatedBy: "```")
        let lists = blocks.filter { $0.hasPrefix("json\n[") }.map { String($0.dropFirst("json\n".count)) }
        #expect(lists.count == 1)
        for list in lists {
            let found = try load(list: list).checked().delivery.credentials
            #expect(found.map(\.name) == ["shop", "courier", "team"])
        }
    }
}
