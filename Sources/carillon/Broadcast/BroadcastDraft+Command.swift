import Broadcasts
import Foundation
import Pipeline

extension BroadcastDraft {
    /// The document of a file; `-` is standard input.
    ///
    /// - Throws: if it is no broadcast's document: exit code 64.
    init(file: String, now: WallTime) throws(CommandFailure) {
        let name = file == "-" ? "standard input" : file
        let data =
            file == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
        guard let data else { throw CommandFailure(.usage, "\(name): the file cannot be read") }
        guard let draft = BroadcastDraft(Array(data), now: now) else {
            throw CommandFailure(
                .usage,
                "\(name): it must hold one broadcast as a JSON object, with actiontype and notificationid and without an "
                    + "envelope")
        }
        self = draft
    }
}

extension CommandFailure {
    /// Exit code 64.
    init(_ refusal: BroadcastDraft.Refusal) {
        switch refusal {
        case .deadLetter(let findings):
            self.init(
                .usage,
                lines: findings.map {
                    "the broadcast would be a dead letter, \($0.letter.code.label): \($0.letter.message)"
                })
        case .expired(let time):
            self.init(.usage, "the broadcast has expired already, at \(time.iso8601): nobody would get it")
        }
    }
}
