import Foundation
import TestSupport
import Testing

@testable import StateStore

/// Whether a store that was not closed is checked: only if more than its process can have ended since (ADR 45).
@Suite("A store that was not closed")
struct UnclosedStoreTests {
    private static let now = "11111111-2222-3333-4444-555555555555"
    private let folder = TemporaryFolder()
    private let boot = BootID(now, time: 1_000)
    private let laterBoot = BootID("11111111-2222-3333-4444-666666666666", time: 1_000)

    /// Fills a store and leaves its marker as if its process had been killed.
    @discardableResult
    private func leaveUnclosed(boot: BootID?) throws -> String {
        let store = try DiskStore.open(folder.path, boot: boot).store
        try store.change([("a", "1"), ("b", "2")], checkpoint: "at 2")
        let marker = try String(contentsOf: folder.marker, encoding: .utf8)
        try store.close()
        try leave(marker)
        return marker
    }

    private func leave(_ marker: String) throws {
        try Data(marker.utf8).write(to: folder.marker)
    }

    /// How the next start opens it, which closes it again unless `isKilled`.
    private func opening(boot: BootID?, isKilled: Bool = false) throws -> StoreOpening {
        let (store, opening) = try DiskStore.open(folder.path, boot: boot)
        let marker = try String(contentsOf: folder.marker, encoding: .utf8)
        switch opening {
        case .created, .wiped: #expect(try store.content().isEmpty)
        case .clean, .unclosed, .checked:
            #expect(try store.content() == [Pair("a", "1"), Pair("b", "2")])
            #expect(try store.checkpoint() == "at 2")
        }
        try store.close()
        if isKilled { try leave(marker) }
        return opening
    }

    @Test("is used as it is by the same start of the system, and closed it is clean")
    func sameBoot() throws {
        try leaveUnclosed(boot: boot)
        #expect(try opening(boot: boot) == .unclosed)
        #expect(try opening(boot: boot) == .clean)
    }

    @Test("is checked by another start of the system, and then it is used as it is by that one")
    func otherBoot() throws {
        try leaveUnclosed(boot: boot)
        #expect(try opening(boot: laterBoot, isKilled: true) == .checked)
        #expect(try opening(boot: laterBoot, isKilled: true) == .unclosed)
        #expect(try opening(boot: boot) == .checked)
    }

    @Test(
        "is checked if the machine was started at another time, though its UUID is the same",
        arguments: [(990, true), (1_010, true), (989, false), (1_011, false), (.min, false), (.max, false)]
            as [(Int64, Bool)])
    func sameUUID(time: Int64, isSame: Bool) throws {
        try leaveUnclosed(boot: boot)
        #expect(try opening(boot: BootID(Self.now, time: time)) == (isSame ? .unclosed : .checked))
    }

    @Test("is checked if the start of the system is not known, whether then or now")
    func noBoot() throws {
        try leaveUnclosed(boot: boot)
        #expect(try opening(boot: nil, isKilled: true) == .checked)
        #expect(try String(contentsOf: folder.marker, encoding: .utf8) == "open")
        #expect(try opening(boot: boot) == .checked)
        #expect(try leaveUnclosed(boot: nil) == "open")
        #expect(try opening(boot: nil) == .checked)
    }

    @Test("of an older version, with `open` alone, is checked; with `checking` or `damaged` it is wiped")
    func oldMarkers() throws {
        try leaveUnclosed(boot: boot)
        try leave("open")
        #expect(try opening(boot: boot) == .checked)
        for marker in ["checking", "damaged"] {
            try leaveUnclosed(boot: boot)
            try leave(marker)
            guard case .wiped = try opening(boot: boot) else {
                Issue.record("\(marker) was not wiped")
                continue
            }
        }
    }

    @Test("is never used as it is with a marker that was cut off or has more than it should")
    func tornMarker() throws {
        let whole = try leaveUnclosed(boot: boot)
        let texts =
            (0..<whole.count).map { String(whole.prefix($0)) } + [whole + " 0", whole + "x", whole.uppercased()]
        for text in texts {
            try leaveUnclosed(boot: boot)
            try leave(text)
            switch try opening(boot: boot) {
            case .checked: #expect(text == "open")
            case .wiped: #expect(text != "open")
            case .created, .clean, .unclosed: Issue.record("trusted with the marker “\(text)”")
            }
        }
    }

    @Test("is not trusted by programs that read 32 bytes and know only `open`, `checking` and `damaged`")
    func olderProgram() throws {
        let marker = try leaveUnclosed(boot: boot)
        #expect(!["open", "checking", "damaged"].contains(String(marker.prefix(32))))
    }

    @Test("is checked if it was copied: it may have been written meanwhile")
    func copied() throws {
        try leaveUnclosed(boot: boot)
        let other = TemporaryFolder()
        try FileManager.default.copyItem(atPath: folder.path, toPath: other.path)
        #expect(try DiskStore.open(other.path, boot: boot).opening == .checked)
        let data = try Data(contentsOf: folder.dataFile)
        try FileManager.default.moveItem(atPath: folder.dataFile.path, toPath: folder.path + "/before")
        try data.write(to: folder.dataFile)
        #expect(try opening(boot: boot) == .checked)
    }

    @Test("is used as it is three times in a row, then checked, so that damage does not end every process")
    func inARow() throws {
        try leaveUnclosed(boot: boot)
        for _ in 0..<2 {
            for _ in 0..<StoreUse.mostUnchecked { #expect(try opening(boot: boot, isKilled: true) == .unclosed) }
            #expect(try opening(boot: boot, isKilled: true) == .checked)
        }
        #expect(try opening(boot: boot) == .unclosed)
        #expect(try opening(boot: boot, isKilled: true) == .clean)
        #expect(try opening(boot: boot) == .unclosed)
    }

    @Test("is wiped if its file is shorter than it was, by the same start of the system too")
    func truncated() throws {
        try leaveUnclosed(boot: boot)
        let file = try FileHandle(forWritingTo: folder.dataFile)
        try file.truncate(atOffset: 8_192)
        try file.close()
        guard case .wiped = try opening(boot: boot) else {
            Issue.record("a short file was opened")
            return
        }
        #expect(try DiskStore.open(folder.path, boot: boot).opening == .clean)
    }

    @Test("has everything that was committed when its process was killed, synced or not")
    func killed() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
            let store = try DiskStore.open(path).store
            try store.change([("a", "1")], checkpoint: "at 1")
            try store.writeUnsynced { writer throws(StoreError) in
                try withBytes(of: "b") { key throws(StoreError) in
                    try withBytes(of: "2") { value throws(StoreError) in try writer.append(key, value) }
                }
                try withBytes(of: "at 2") { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
            }
            kill(getpid(), SIGKILL)
        }
        let current = BootID.current()
        #expect(try opening(boot: current) == (current == nil ? .checked : .unclosed))
    }

    @Test("is also one that was closed before its last transaction was on disk")
    func unsynced() throws {
        func close(isSynced: Bool) throws {
            let store = try DiskStore.open(folder.path, boot: boot).store
            try store.writeUnsynced { writer throws(StoreError) in try writer.removeAll() }
            if isSynced { try store.change([("a", "1")]) }
            try store.close()
        }
        try close(isSynced: true)
        #expect(try DiskStore.open(folder.path, boot: laterBoot).opening == .clean)
        try close(isSynced: false)
        #expect(try DiskStore.open(folder.path, boot: boot).opening == .unclosed)
        try close(isSynced: false)
        #expect(try DiskStore.open(folder.path, boot: laterBoot).opening == .checked)
    }

    @Test("names the start of the system only by a UUID that is not empty")
    func bootID() throws {
        #expect(BootID(Self.now, time: 1)?.text == Self.now)
        let upper = "ABCDEF01-2222-3333-4444-555555555555"
        let wrong = [
            "", "1", String(Self.now.dropLast()), Self.now + "5", upper, Self.now.replacing("-", with: "1"),
            "00000000-0000-0000-0000-000000000000", Self.now.replacing("5", with: " "),
        ]
        for text in wrong { #expect(BootID(text, time: 1) == nil) }
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/boot_id"
        #expect(BootID.current(in: path) == nil)
        let texts = [
            ("", nil), ("\n", nil), (Self.now, Self.now), (Self.now + "\n", Self.now), (Self.now + "5\n", nil),
        ]
        for (text, found) in texts as [(String, String?)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(BootID.current(in: path)?.text == found)
        }
        if let current = BootID.current() { #expect(BootID.current()?.isSame(as: current) == true) }
    }
}
