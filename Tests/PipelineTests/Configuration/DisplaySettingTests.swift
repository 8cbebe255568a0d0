import Foundation
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The settings display and display.templates (docs/rules.md §7.1)")
struct DisplaySettingTests {
    private static let text =
        #"{"default":"en","languages":{"en":{"order_created":{"title":"{order_id}","body":"New"}}}}"#

    private let folder = TemporaryFolder()

    private func file(_ text: String) throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/display.json"))
        return "@\(folder.path)/display.json"
    }

    @Test("with display=on the file's texts are sent, and are part of the hash of the rules; with off neither")
    func on() throws {
        let off = try LoadedConfiguration.of([:]).checked()
        #expect(off.rendering.display == nil)
        let checkedOnly = try LoadedConfiguration.of(["display.templates": try file(Self.text)]).checked()
        #expect(checkedOnly.rendering.display == nil)
        #expect(checkedOnly.rulesHash == off.rulesHash)

        let on = try LoadedConfiguration.of(["display": "on", "display.templates": try file(Self.text)]).checked()
        #expect(on.rendering.display == (try DisplayTemplates(json: Array(Self.text.utf8))))
        #expect(on.rulesHash != off.rulesHash)
        for (old, new) in [
            ("New", "Neu"), ("{order_id}", "{visible_id}"), ("order_created", "order_ids_listed"), ("en", "de"),
        ] {
            let other = Self.text.replacingOccurrences(of: old, with: new)
            let changed = try LoadedConfiguration.of(["display": "on", "display.templates": try file(other)]).checked()
            #expect(changed.rulesHash != on.rulesHash, "\(other)")
        }
        let written =
            #"{"languages": {"EN": {"order_created": {"body": "New", "title": "{order_id}"}}}, "default": "En"}"#
        let same = try LoadedConfiguration.of(["display": "on", "display.templates": try file(written)]).checked()
        #expect(same.rulesHash == on.rulesHash)
    }

    @Test("display=on needs texts", arguments: [nil, ""])
    func noTexts(_ templates: String?) throws {
        var values = ["display": "on"]
        values["display.templates"] = templates
        let problems = LoadedConfiguration.of(values).problems
        #expect(
            problems.map(\.description) == [
                "--set (display): 'on' needs the texts of order pushes; add display.templates=@FILE, or leave display off"
            ])
    }

    @Test(
        "a problem names the file and everything that is wrong with it, with display=off too", arguments: ["on", "off"])
    func problems(_ display: String) throws {
        let wrong = #"{"default":"fr","languages":{"en":{"order_created":{"title":"{x"}}}}"#
        let problems = LoadedConfiguration.of(["display": display, "display.templates": try file(wrong)]).problems
        #expect(problems.count == 1)
        let message = try #require(problems.first?.message)
        #expect(message.contains("display.json' is not allowed; it must be @FILE with JSON such as {"))
        #expect(
            message.hasSuffix(
                "; languages.en.order_created.title has a { without its }; languages.en.order_created needs body, a text; "
                    + "it has the default 'fr', which is not among the languages"))
    }
}

@Suite("The settings deep-link.food and deep-link.d2d (docs/rules.md §5.5)")
struct DeepLinkSettingTests {
    @Test("a type without a template has no URL, and nothing that is sent depends on them")
    func templates() throws {
        let usual = try LoadedConfiguration.of([:]).checked()
        #expect(usual.deepLinks.templates.isEmpty)
        let own = try LoadedConfiguration.of(["deep-link.food": "https://shop.example/o/{order_id}#map"]).checked()
        #expect(own.deepLinks.url(orderType: "food", orderID: "a+b") == "https://shop.example/o/a%2Bb#map")
        #expect(own.deepLinks.url(orderType: "d2d", orderID: "1") == nil)
        #expect(own.rulesHash == usual.rulesHash)
        let both = try LoadedConfiguration.of([
            "deep-link.food": "https://a.example/{order_id}", "deep-link.d2d": "https://b.example/{order_id}",
        ])
        .checked()
        #expect(
            both.deepLinks.templates == ["food": "https://a.example/{order_id}", "d2d": "https://b.example/{order_id}"])
    }

    @Test("Examples/document-3.properties has document 3's URLs, and no other setting")
    func exampleFile() throws {
        var loader = ConfigurationLoader()
        loader.configurationFile = Page("Examples/document-3.properties").path
        loader.environment = ["HOME": "/home/test", "KAFKA_BOOTSTRAP_SERVERS": "broker:9092"]
        let configuration = try loader.load().checked()
        let links = configuration.deepLinks
        #expect(links.url(orderType: "food", orderID: "12345") == "https://mikmik.site/track_order.php?order_id=12345")
        #expect(
            links.url(orderType: "d2d", orderID: "67890") == "https://mikmik.site/d2d/track_d2d.php?order_id=67890")
        var usual = try LoadedConfiguration.of([:]).checked()
        usual.deepLinks = links
        #expect(configuration.rulesHash == usual.rulesHash)
    }
}
