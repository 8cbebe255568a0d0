import Foundation
import TestSupport
import Testing

@testable import DispatchRecords
@testable import Pipeline

@Suite("The settings display and display.templates (docs/rules.md §7.1)")
struct DisplaySettingTests {
    private static let text =
        #"{"default":"en","languages":{"en":{"order_created":{"title":"{order_id}","body":"New"}}}}"#

    private func load(_ values: [String: String]) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.flags = values.map { .init(name: "--set", key: $0.key, value: $0.value) }
        loader.environment = ["HOME": "/home/test", "KAFKA_BOOTSTRAP_SERVERS": "broker:9092"]
        return loader.load()
    }

    private let folder = TemporaryFolder()

    private func file(_ text: String) throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/display.json"))
        return "@\(folder.path)/display.json"
    }

    @Test("with display=on the file's texts are sent, and are part of the hash of the rules; with off neither")
    func on() throws {
        let off = try load([:]).checked()
        #expect(off.rendering.display == nil)
        let checkedOnly = try load(["display.templates": try file(Self.text)]).checked()
        #expect(checkedOnly.rendering.display == nil)
        #expect(checkedOnly.rulesHash == off.rulesHash)

        let on = try load(["display": "on", "display.templates": try file(Self.text)]).checked()
        #expect(on.rendering.display == (try DisplayTemplates(json: Array(Self.text.utf8))))
        #expect(on.rulesHash != off.rulesHash)
        for (old, new) in [
            ("New", "Neu"), ("{order_id}", "{visible_id}"), ("order_created", "order_ids_listed"), ("en", "de"),
        ] {
            let other = Self.text.replacingOccurrences(of: old, with: new)
            let changed = try load(["display": "on", "display.templates": try file(other)]).checked()
            #expect(changed.rulesHash != on.rulesHash, "\(other)")
        }
        let written =
            #"{"languages": {"EN": {"order_created": {"body": "New", "title": "{order_id}"}}}, "default": "En"}"#
        let same = try load(["display": "on", "display.templates": try file(written)]).checked()
        #expect(same.rulesHash == on.rulesHash)
    }

    @Test("display=on needs texts", arguments: [nil, ""])
    func noTexts(_ templates: String?) throws {
        var values = ["display": "on"]
        values["display.templates"] = templates
        let problems = load(values).problems
        #expect(
            problems.map(\.description) == [
                "--set (display): 'on' needs the texts of order pushes; add display.templates=@FILE, or leave display off"
            ])
    }

    @Test(
        "a problem names the file and everything that is wrong with it, with display=off too", arguments: ["on", "off"])
    func problems(_ display: String) throws {
        let wrong = #"{"default":"fr","languages":{"en":{"order_created":{"title":"{x"}}}}"#
        let problems = load(["display": display, "display.templates": try file(wrong)]).problems
        #expect(problems.count == 1)
        let message = try #require(problems.first?.message)
        #expect(message.contains("display.json' is not allowed; it must be @FILE with JSON such as {"))
        #expect(
            message.hasSuffix(
                "; languages.en.order_created.title has a { without its }; languages.en.order_created needs body, a text; "
                    + "it has the default 'fr', which is not among the languages"))
        let missing = load(["display": display, "display.templates": "@/nowhere/display.json"]).problems
        #expect(missing.count == 1)
        #expect(missing.first?.message.contains(" cannot be read: ") == true)
        #expect(load(["display.templates": "{}"]).problems.count == 1)
        #expect(load(["display": "yes"]).problems.first?.message.hasSuffix("it must be one of on, off") == true)
    }
}

@Suite("The settings deep-link.food and deep-link.d2d (docs/rules.md §5.5)")
struct DeepLinkSettingTests {
    private func load(_ values: [String: String]) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.flags = values.map { .init(name: "--set", key: $0.key, value: $0.value) }
        loader.environment = ["HOME": "/home/test", "KAFKA_BOOTSTRAP_SERVERS": "broker:9092"]
        return loader.load()
    }

    @Test("a type without a template has no URL, and nothing that is sent depends on them")
    func templates() throws {
        let usual = try load([:]).checked()
        #expect(usual.deepLinks.templates.isEmpty)
        let own = try load(["deep-link.food": "https://shop.example/o/{order_id}#map"]).checked()
        #expect(own.deepLinks.url(orderType: "food", orderID: "a+b") == "https://shop.example/o/a%2Bb#map")
        #expect(own.deepLinks.url(orderType: "d2d", orderID: "1") == nil)
        #expect(own.rulesHash == usual.rulesHash)
        let both = try load([
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
        var usual = try load([:]).checked()
        usual.deepLinks = links
        #expect(configuration.rulesHash == usual.rulesHash)
    }

    @Test(
        "a template that is not https, or does not have {order_id} once, is refused",
        arguments: [
            "", "http://shop.example/{order_id}", "https://shop.example/", "https://shop.example/{order_id}/{order_id}",
            "https://{order_id}", "https://shop.example/{id}", "https://shop.example/{order_id}?t={order_type}",
        ])
    func refused(_ template: String) {
        for type in ["food", "d2d"] {
            #expect(
                load(["deep-link.\(type)": template]).problems.map(\.description) == [
                    "--set (deep-link.\(type)): '\(template)' is not allowed; it must be an https URL with {order_id} once "
                        + "after its host, and no other placeholder"
                ])
        }
    }
}
