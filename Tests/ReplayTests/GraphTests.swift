import Foundation
import Testing

@Suite("The replay cannot deliver")
struct GraphTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("Replay depends on nothing that depends on Delivery, and imports only what it says")
    func graph() throws {
        let manifest = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
        var reached: Set<String> = ["Replay"]
        var open = ["Replay"]
        while let target = open.popLast() {
            for name in Self.dependencies(of: target, in: manifest) where reached.insert(name).inserted {
                open.append(name)
            }
        }
        #expect(reached.isSuperset(of: ["Pipeline", "KafkaClient", "FanOut", "Extraction"]))
        #expect(reached.isDisjoint(with: ["Delivery", "HTTPClient", "Console", "HTTPServer", "carillon"]))
        let allowed = reached.union(["Foundation", "Glibc"])
        let files = try #require(
            FileManager.default.enumerator(atPath: Self.root.appending(path: "Sources/Replay").path))
        var count = 0
        for case let file as String in files where file.hasSuffix(".swift") {
            count += 1
            let text = try String(contentsOf: Self.root.appending(path: "Sources/Replay/\(file)"), encoding: .utf8)
            for line in text.split(separator: "\n") where line.hasPrefix("import ") {
                #expect(allowed.contains(String(line.dropFirst("import ".count))), "\(file): \(line)")
            }
        }
        #expect(count > 10)
    }

    /// The names in the brackets behind a target's name.
    private static func dependencies(of target: String, in manifest: String) -> [String] {
        guard
            let start = manifest.range(of: "arget(name: \"\(target)\"")?.upperBound
                ?? manifest.range(of: "arget(\n            name: \"\(target)\"")?.upperBound
        else { return [] }
        let rest = manifest[start...]
        guard let list = rest.range(of: "dependencies: ["), let end = rest[list.upperBound...].firstIndex(of: "]"),
            rest[..<list.lowerBound].range(of: "arget(") == nil
        else { return [] }
        return rest[list.upperBound..<end].split(separator: "\"").map(String.init).filter { $0.first?.isLetter == true }
    }
}
