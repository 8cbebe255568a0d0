import Foundation
import TestSupport
import Testing

@testable import Pipeline

/// The table of docs/settings.md is `Setting.all`. `CARILLON_REWRITE_PAGES=1 swift test --filter SettingsPageTests` writes it.
@Suite struct SettingsPageTests {
    private static let header = "| Key | Default | Allowed | Meaning |"

    private static func row(_ setting: Setting) -> String {
        "| `\(setting.key)` | \(defaultValue(setting)) | \(setting.allowed) | \(setting.summary) |"
    }

    private static func defaultValue(_ setting: Setting) -> String {
        switch setting.defaultValue {
        case .value(""): "none"
        case .value(let text): "`\(text)`"
        // A pattern such as <base>/<group.id> would be read as tags.
        case .computed(let text): text.contains("<") ? "`\(text)`" : text
        case .none: "–"
        }
    }

    @Test("docs/settings.md has every setting, as it is declared, and no other")
    func everySetting() throws {
        let page = Page("docs/settings.md")
        let rows = Setting.all.map(Self.row)
        if ProcessInfo.processInfo.environment["CARILLON_REWRITE_PAGES"] != nil {
            try page.replaceRows(below: Self.header, by: rows)
        }
        #expect(try page.rows(below: Self.header) == rows, "CARILLON_REWRITE_PAGES=1 writes the table of the page")
    }
}
