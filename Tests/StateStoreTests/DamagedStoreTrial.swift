import Foundation
import TestSupport

@testable import StateStore

/// Fills a store, changes bytes of its file, opens it as after a crash and continues: its contents are compared with a
/// memory store that has had the same changes. Runs in a process of its own, which it may crash.
struct DamagedStoreTrial {
    /// Writes the outcome of each seed, one per line, and what must not happen.
    static func run(_ seeds: Range<UInt64>, in folder: String) {
        // A hang is a finding too.
        alarm(240)
        var outcomes = ""
        var findings = ""
        for seed in seeds {
            var trial = DamagedStoreTrial(seed: seed, folder: folder + "/\(seed)")
            do {
                outcomes += "\(seed) \(try trial.run())\n"
            } catch {
                findings += "seed \(seed): \(error)\n"
                outcomes += "\(seed) failed\n"
            }
        }
        try? Data(outcomes.utf8).write(to: URL(fileURLWithPath: folder + "/outcomes"))
        try? Data(findings.utf8).write(to: URL(fileURLWithPath: folder + "/findings"))
    }

    private struct Wrong: Error, CustomStringConvertible {
        var description: String
    }

    private let seed: UInt64
    private let folder: String
    private var random: SeededGenerator
    /// The same changes, without a file.
    private var memory = MemoryStore()
    /// The entries after each step, by its checkpoint.
    private var history: [String: [Pair]] = [:]

    private init(seed: UInt64, folder: String) {
        self.seed = seed
        self.folder = folder
        random = SeededGenerator(seed: seed)
    }

    private mutating func run() throws -> String {
        let store = try DiskStore.open(folder).store
        for step in 0..<12 {
            try change(store, step)
        }
        try store.close()
        try damage()
        do {
            return try continueUse()
        } catch let error as StoreError where error.recovery == .wipe {
            // The damage was found and reported in use: the next start wipes the store.
            guard case .wiped = try DiskStore.open(folder).opening else {
                throw Wrong(description: "\(error), and kept")
            }
            return "found, then wiped"
        }
    }

    private mutating func continueUse() throws -> String {
        let (store, opening) = try DiskStore.open(folder)
        switch opening {
        case .checked: try rewind(to: store.checkpoint())
        case .wiped: memory = MemoryStore()
        case .created, .clean, .unclosed: throw Wrong(description: "opened as \(opening)")
        }
        try compare(store, "after the start")
        for step in 12..<22 {
            try change(store, step)
            try compare(store, "after step \(step)")
        }
        try store.close()
        guard try DiskStore.open(folder).opening == .clean else { throw Wrong(description: "not clean at the end") }
        return opening == .checked ? "checked" : "wiped"
    }

    /// The step before the last is valid, too: its checkpoint says so, and the log would be read again from there.
    private mutating func rewind(to checkpoint: String?) throws {
        guard let checkpoint, ["step 10", "step 11"].contains(checkpoint), let entries = history[checkpoint] else {
            throw Wrong(description: "sound at \(checkpoint ?? "no checkpoint")")
        }
        memory = MemoryStore()
        try memory.change(entries.map { ($0.key, $0.value) }, checkpoint: checkpoint)
    }

    /// Changes some bytes: anywhere, in the two pages that LMDB starts from, in the pages' heads, or just one bit.
    private mutating func damage() throws {
        let file = URL(fileURLWithPath: folder + "/data.mdb")
        var data = try Data(contentsOf: file)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let page = Int.random(in: 0..<data.count / 4_096, using: &random) * 4_096
            let place =
                switch seed % 4 {
                case 0: Int.random(in: 0..<data.count, using: &random)
                case 1: Int.random(in: 0..<2, using: &random) * 4_096 + Int.random(in: 0..<152, using: &random)
                case 2: page + Int.random(in: 0..<48, using: &random)
                default: page + Int.random(in: 0..<4_096, using: &random)
                }
            data[place] ^=
                seed % 4 == 3 ? 1 << UInt8.random(in: 0..<8, using: &random) : .random(in: 1...255, using: &random)
        }
        try data.write(to: file)
        try Data("open".utf8).write(to: URL(fileURLWithPath: folder + "/in-use"))
    }

    /// One transaction of additions and removals, the same in both stores.
    private mutating func change(_ store: DiskStore, _ step: Int) throws {
        var changes: [(String, String?)] = []
        for _ in 0..<Int.random(in: 1...120, using: &random) {
            let key =
                "place \(Int.random(in: 10..<22, using: &random)) device \(Int.random(in: 0..<60, using: &random))"
            // One value in ten needs pages of its own.
            let length = Int.random(in: 0..<10, using: &random) == 0 ? 6_000 : Int.random(in: 0..<300, using: &random)
            let isGone = Int.random(in: 0..<3, using: &random) == 0
            changes.append((key, isGone ? nil : "\(step) \(String(repeating: "x", count: length))"))
        }
        try memory.change(changes, checkpoint: "step \(step)")
        try store.change(changes, checkpoint: "step \(step)")
        history["step \(step)"] = try memory.content()
    }

    private func compare(_ store: DiskStore, _ when: String) throws {
        let reader = try store.makeReader()
        try reader.begin()
        let other = try memory.makeReader()
        try other.begin()
        guard try reader.content() == other.content() else { throw Wrong(description: "other entries \(when)") }
        for place in 10..<22 {
            guard try reader.content(startingWith: "place \(place)") == other.content(startingWith: "place \(place)")
            else { throw Wrong(description: "other devices of place \(place) \(when)") }
        }
        guard try store.checkpoint() == memory.checkpoint() else {
            throw Wrong(description: "other checkpoint \(when)")
        }
    }
}
