import FuzzSupport
import Notifications

@testable import Sender

/// The body as the note of a retry: what is accepted is within bounds, and can be sent.
func checkNote(_ input: Input) {
    guard let note = RetryNote(input.bodyText) else { return }
    expect(RetryNote(note.text) == note, "written and read again it is the same: \(note)")
    let times = [note.firstSentAt, note.lastSentAt, note.notBefore].compactMap(\.?.milliseconds)
    let numbers = [note.offset, Int64(note.attempts), note.used] + times
    expect(numbers.allSatisfy { $0 >= 0 }, "nothing in a note is negative: \(note)")
    for platform in [Platform.fcm, .apns] {
        Push(platform).end(with: .accepted(providerID: nil), 200, after: note)
        Push(platform).end(with: .retry(reason: "x", counts: true, after: 86_400_000), 503, after: note)
        Push(platform).end(with: .deadDevice(reason: "x", .at(.distantFuture)), 410, after: note)
    }
}

/// The body as the metadata of a lane's offset: read, restored and written, it says the same of each offset.
func checkOffset(_ input: Input) {
    guard let offset = LaneOffset(offset: 4_711, metadata: input.bodyText) else { return }
    let again = LaneOffset(offset: 4_711, metadata: offset.metadata)
    expect(again == offset, "written and read again it is the same: \(offset.metadata)")
    expect(offset.finished.count * 8 <= LaneOffset.largestWindow, "no more bits than the largest window")
    var open = OpenOffsets(from: offset, window: 64)
    let written = open.commit(partitions: offset.partitions, sentBelow: offset.sentBelow)
    expect(written.finished.last != 0, "no zeros at the end")
    expect(LaneOffset(offset: written.offset, metadata: written.metadata) == written, "what is committed is read")
    for candidate in [0, 4_710] + (4_711..<offset.offset + Int64(offset.finished.count * 8) + 9) {
        expect(
            written.isFinished(candidate) == offset.isFinished(candidate),
            "restored, the same are finished: \(candidate)")
    }
    // The first unfinished one is the only one that is opened.
    switch open.open(written.offset) {
    case .open: expect(!offset.isFinished(written.offset), "what is finished is not opened")
    case .known, .full: fail("the first unfinished offset is not opened: \(written)")
    }
}
