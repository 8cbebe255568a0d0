import Foundation
import TestSupport
import Testing

@testable import StateStore

/// When a store that was not closed is used as it is, and when it is filled again (ADR 46).
@Suite("A store that was not closed")
struct UnclosedStoreTests {
    private let folder = TemporaryFolder()
    private let boot = "11111111-2222-3333-4444-555555555555"
    private let laterBoot = "11111111-2222-3333-4444-666666666666"

    /// Opens the store, fills it if it is empty, and closes it.
    ///
    /// - Parameter isKilled: leaves the marker as if the process had been killed.
    @discardableResult
    private func start(boot: String?, isKilled: Bool = true) throws -> StoreOpening {
        let (store, opening) = try DiskStore.open(folder.path, boot: boot)
        switch opening {
        case .created, .wiped:
            #expect(try store.content().isEmpty)
            try store.change([("a", "1"), ("b", "2")], checkpoint: "at 2")
        case .clean, .unclosed:
            #expect(try store.content() == [Pair("a", "1"), Pair("b", "2")])
            #expect(try store.checkpoint() == "at 2")
        }
        let marker = try Data(contentsOf: folder.marker)
        try store.close()
        if isKilled { try marker.write(to: folder.marker) }
        return opening
    }

    private func reasonOfWipe(boot: String?) throws -> String? {
        guard case .wiped(let reason) = try start(boot: boot) else { return nil }
        return reason
    }

    @Test("is used as it is after two kills, and filled again after the third one in a row")
    func inARow() throws {
        try start(boot: boot)
        for _ in 0..<2 {
            #expect(try start(boot: boot) == .unclosed)
            #expect(try start(boot: boot) == .unclosed)
            #expect(try reasonOfWipe(boot: boot) == "it was not closed 3 times in a row")
        }
    }

    @Test("begins to count again when it was closed")
    func closed() throws {
        try start(boot: boot)
        #expect(try start(boot: boot) == .unclosed)
        #expect(try start(boot: boot, isKilled: false) == .unclosed)
        #expect(try start(boot: boot) == .clean)
        #expect(try start(boot: boot) == .unclosed)
        #expect(try start(boot: boot) == .unclosed)
    }

    @Test("is filled again if the machine has been restarted since; a closed one is not")
    func otherBoot() throws {
        try start(boot: boot)
        #expect(try reasonOfWipe(boot: laterBoot)?.contains("restarted since") == true)
        #expect(try start(boot: laterBoot, isKilled: false) == .unclosed)
        #expect(try start(boot: boot) == .clean)
    }

    @Test("is filled again if the boot id is not known, whether then or now")
    func noBoot() throws {
        try start(boot: boot)
        #expect(try reasonOfWipe(boot: nil) != nil)
        #expect(try reasonOfWipe(boot: nil) != nil)
        #expect(try reasonOfWipe(boot: boot) != nil)
    }

    @Test(
        "is filled again with a marker that is not one",
        arguments: [
            "", "0", "0 ", "x {boot}", "-1 {boot}", "\(Int.max) {boot}", "0 {boot} 0", "{boot}",
            "open {boot} 1000 1:2 0", "open",
        ])
    func foreignMarker(text: String) throws {
        try start(boot: boot)
        try Data(text.replacing("{boot}", with: boot).utf8).write(to: folder.marker)
        #expect(try reasonOfWipe(boot: boot) != nil)
    }

    @Test("is filled again if its file is shorter than it was")
    func truncated() throws {
        try start(boot: boot)
        let file = try FileHandle(forWritingTo: folder.dataFile)
        try file.truncate(atOffset: 8_192)
        try file.close()
        #expect(try reasonOfWipe(boot: boot) != nil)
    }

    @Test("has everything that was committed when its process was killed, synced or not")
    func killed() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
            let store = try DiskStore.open(path, boot: "one-boot").store
            try store.change([("a", "1")], checkpoint: "at 1")
            try store.writeUnsynced { writer throws(StoreError) in
                try withBytes(of: "b") { key throws(StoreError) in
                    try withBytes(of: "2") { value throws(StoreError) in try writer.append(key, value) }
                }
                try withBytes(of: "at 2") { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
            }
            kill(getpid(), SIGKILL)
        }
        #expect(try start(boot: "one-boot") == .unclosed)
    }

    @Test("is recognised by the system's boot id, which is one word and stays the same")
    func currentBoot() throws {
        let boot = try #require(UseMarker.currentBoot())
        #expect(boot == UseMarker.currentBoot())
        #expect(!boot.isEmpty && !boot.contains(where: \.isWhitespace))
    }
}
