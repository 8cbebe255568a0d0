import Broadcasts
import Foundation
import JSONReader
import Pipeline

/// A broadcast of a file, as it is written to `topic.broadcasts`.
struct BroadcastDraft {
    /// The `notificationid`, which is the record's key.
    let key: String
    /// The document as it stands in the file, with `published_at` where it had none.
    let value: [UInt8]

    /// - Parameters:
    ///   - name: of the file, for the reason of a refusal.
    ///   - now: when it is published, unless the document says so.
    /// - Throws: if it is no broadcast's document: exit code 64.
    init(_ document: [UInt8], name: String, now: WallTime) throws(CommandFailure) {
        let blank = Array(" \t\r\n".utf8)
        let text = Array(document.reversed().drop { blank.contains($0) }.reversed())
        var reader = JSONReader()
        let found = text.withUnsafeBytes { bytes -> (key: String, isPublished: Bool)? in
            guard let value = try? reader.parse(bytes), value.isObject,
                value.member("actiontype") != nil || value.member("notificationid") != nil
            else { return nil }
            var arena = TextArena()
            let key = arena.text(value.member("notificationid")).map { String(decoding: $0, as: UTF8.self) }
            return (key ?? "", Self.isPresent(value.member("published_at")))
        }
        guard let found else {
            throw CommandFailure(
                .usage,
                "\(name): it must hold one broadcast as a JSON object, with actiontype and notificationid and without an "
                    + "envelope")
        }
        key = found.key
        value =
            found.isPublished
            ? text : text.dropLast() + Array(#","published_at":"\#(now.iso8601)"}"#.utf8)
    }

    /// The file; `-` is standard input.
    init(file: String, now: WallTime) throws(CommandFailure) {
        let name = file == "-" ? "standard input" : file
        let data =
            file == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
        guard let data else { throw CommandFailure(.usage, "\(name): the file cannot be read") }
        try self.init(Array(data), name: name, now: now)
    }

    /// Null and a blank string are absent (docs/rules.md §14.1).
    private static func isPresent(_ value: JSONValue?) -> Bool {
        guard let value, !value.isNull else { return false }
        guard let text = value.string else { return true }
        return !text.bytes.trimmed.isEmpty
    }

    /// The broadcast that `carillon broadcasts` would read.
    ///
    /// - Throws: if it would be a dead letter, or has expired: exit code 64.
    func check(_ reader: inout BroadcastReader, now: WallTime) throws(CommandFailure) -> BroadcastNotification {
        let record = BroadcastRecord(offset: 0, timestamp: now, key: Array(key.utf8), value: value)
        switch reader.read(record).content {
        case .published(let broadcast, _):
            guard broadcast.expiresAt > now else {
                throw CommandFailure(
                    .usage,
                    "the broadcast has expired already, at \(broadcast.expiresAt.iso8601): nobody would get it")
            }
            return broadcast
        case .failed(let letter):
            throw CommandFailure(
                .usage, "the broadcast would be a dead letter, \(letter.code.label): \(letter.message)")
        }
    }
}
