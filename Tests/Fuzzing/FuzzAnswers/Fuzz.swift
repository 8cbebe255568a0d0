import FuzzSupport

@testable import Notifications

/// What comes from a provider or from Kafka, to everything of the sender that reads it. The headers of ``RecordInput`` are
/// those of an answer or of a record; its value is a body, a value, a note or metadata, and is read as each of them. The header `status` is the answer's status, `key` the record's key.
@c(LLVMFuzzerTestOneInput)
public func fuzzAnswer(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let record = RecordInput(input(data, size))
    let found = Input(headers: record.headers, body: record.value)
    answers.check(found)
    checkDates(found)
    checkNote(found)
    checkOffset(found)
    outcomes.check(found)
    messages.check(found)
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var answers = AnswerCheck()
nonisolated(unsafe) private var outcomes = OutcomeCheck()
nonisolated(unsafe) private var messages = MessageCheck()

struct Input {
    /// A quarter of an hour after the examples' records were written.
    static let now = WallTime(milliseconds: 1_751_897_700_000)

    let headers: [EventHeader]
    let body: UnsafeRawBufferPointer

    /// The value of the first header with this name.
    func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
        headers.first { $0.name.elementsEqual(UnsafeRawBufferPointer(name)) }.flatMap(\.value)
    }

    /// As text, as an answer's headers are.
    func text(_ name: StaticString) -> String? { header(name).map { String(decoding: $0, as: UTF8.self) } }

    var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// From 100 to 999, which HTTP allows.
    var status: Int { text("status").flatMap { Int($0) }.flatMap { (100...999).contains($0) ? $0 : nil } ?? 200 }
}

extension String {
    /// Only characters that a code and a name can have.
    var isVisible: Bool { utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
