import Dispatch
import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Registrar
import StateStore
import Synchronization

/// Many devices at once, a line of JSON each, and a device by its address (docs/devices.md).
package final class DeviceBulkEndpoints: Sendable {
    private static let largest = 8 << 20
    /// How many records of one import may wait for Kafka: others have room beside it.
    private static let mostUnderWay = 1_000
    private static let mostRefused = 100

    private let writer: CommandWriter
    private let reads: TopicReads

    package init(_ writer: CommandWriter, _ reads: TopicReads) {
        (self.writer, self.reads) = (writer, reads)
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.lookUp) { call throws(Problem) in try self.lookUp(call) },
            Endpoint(Self.importAll) { call throws(Problem) in try self.importAll(call) },
        ]
    }

    // MARK: By its address

    private func lookUp(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try call.key?.permitEverybody("a device may have any audience")
        let hash = try Self.address(call.request.body)
        try writer.refuseUnlessFresh()
        let found = try writer.view.read { view throws(StoreError) in
            let id = try view.owner(of: hash)
            let device = try id.flatMap { id throws(StoreError) in try view.device(id) }
            return (device, try device?.person.flatMap { id throws(StoreError) in try view.person(id) })
        }
        guard let device = found.0 else { throw Problem(.notFound, "no device has this address") }
        return .now(call.response(.ok, .object(device.members(found.1)), [("ETag", "\"\(device.revision)\"")]))
    }

    /// - Throws: everything that is wrong with the body.
    private static func address(_ bytes: [UInt8]) throws(Problem) -> AddressHash {
        var reader = JSONReader()
        var faults: [Problem.Fault] = []
        let hash = try JSONBody.read(bytes, &reader, &faults) { value throws(Problem) -> AddressHash in
            var (found, members): ([AddressHash?], _) = ([], value.members)
            while let (name, value) = members.next() {
                switch String(name) {
                case "address": found.append(value.string.map { AddressHash(of: String($0)) })
                case "address_sha256": found.append(value.string.flatMap { AddressHash(hex: String($0)) })
                default: found.append(nil)
                }
            }
            guard value.isObject, found.count == 1, let hash = found[0] else {
                throw Problem(
                    .badRequest,
                    "allowed is an object with address, a text, or address_sha256, 64 digits of hex in lower case")
            }
            return hash
        }
        if let problem = Problem(faults) { throw problem }
        return hash
    }

    // MARK: Many

    private static let erased = Problem(
        .personErased, "the person, or the one who had the address, was erased; who came back registers with a PUT")

    /// Lines that cannot be used: the first of them, and how many there are.
    private struct Refused {
        var first: [(line: Int, problem: Problem)] = []
        var lines: Set<Int> = []
        var count: Int { lines.count }

        mutating func add(_ line: Int, _ problem: Problem) {
            lines.insert(line)
            if first.count < mostRefused { first.append((line, problem)) }
        }
    }

    /// The lines are read twice, so that none is recorded where one is refused, and none is kept.
    private func importAll(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try call.key?.permitEverybody("a device may have any audience")
        let author = try call.author
        try writer.refuseUnlessFresh()
        let isPartial = try Self.isPartial(call)
        return try reads.reply(to: call, within: TopicReads.longest, otherwise: .outcomeUnknown) { turn, respond in
            var (read, refused) = (0, Refused())
            try Self.lines(of: call.request.body, turn) { number, line in
                read += 1
                let change: DeviceChange
                do throws(Problem) {
                    change = try DeviceBody.read(line, of: nil, isWhole: true)
                } catch {
                    return refused.add(number, error)
                }
                let isErased = try self.writer.view.read { view throws(StoreError) in try view.bringsBack(change) }
                if isErased { refused.add(number, Self.erased) }
            }
            if refused.count > 0, !isPartial { throw Self.problem(refused, of: read) }
            let recorded = try self.record(call, but: refused.lines, by: author, turn)
            guard recorded == read - refused.count else {
                throw Problem(
                    .outcomeUnknown,
                    "\(recorded) of \(read - refused.count) lines are recorded, others may be: the whole may be repeated"
                )
            }
            let lines = refused.first.map { line, problem -> Document in
                [
                    "line": .integer(Int64(line)), "code": .text(problem.code.rawValue),
                    "detail": .text(problem.faults.first?.detail ?? problem.detail),
                ]
            }
            respond(
                call.response(
                    .accepted,
                    [
                        "read": .integer(Int64(read)), "recorded": .integer(Int64(recorded)), "refused": .list(lines),
                    ]))
        }
    }

    /// The lines of a body that are not blank, with their numbers from 1 on.
    private static func lines(
        of body: [UInt8], _ turn: TopicReads.Turn, _ take: (Int, [UInt8]) throws -> Void
    ) throws {
        var (start, number) = (body.startIndex, 0)
        while start < body.endIndex {
            if turn.isStopped { throw ReadingStopped() }
            let end = body[start...].firstIndex(of: 0x0A) ?? body.endIndex
            number += 1
            let line = body[start..<end]
            if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { try take(number, Array(line)) }
            start = end + 1
        }
    }

    /// What refuses the whole; each pointer begins with the number of a line.
    private static func problem(_ refused: Refused, of read: Int) -> Problem {
        let detail = refused.first.first.map { $0.problem.faults.first?.detail ?? $0.problem.detail } ?? ""
        var all = Problem(
            .badRequest, "\(refused.count) of \(read) lines cannot be used, so none was recorded; the first: \(detail)")
        all.faults = refused.first.map { line, problem in
            Problem.Fault(
                pointer: "/\(line)\(problem.faults.first?.pointer ?? "")",
                problem.faults.first?.problem ?? problem.code,
                detail: problem.faults.first?.detail ?? problem.detail)
        }
        return all
    }

    private static func isPartial(_ call: Call) throws(Problem) -> Bool {
        guard let text = call.value("partial") else { return false }
        guard text == "1" else { throw Problem(.badPath, "partial is not 1; allowed is partial=1, or none") }
        return true
    }

    /// Writes a command for each line that is not refused, and waits until they are recorded. Of the thread of a read. Whom the
    /// log has erased meanwhile the registrar refuses.
    ///
    /// - Returns: how many certainly are.
    private func record(
        _ call: Call, but refused: Set<Int>, by author: Author, _ turn: TopicReads.Turn
    ) throws -> Int {
        let came = DispatchSemaphore(value: 0)
        let state = Mutex((underWay: 0, recorded: 0))
        /// - Returns: false where nobody waits any more.
        func wait(until isDone: (Int) -> Bool) -> Bool {
            while !isDone(state.withLock { $0.underWay }) {
                guard !turn.isStopped else { return false }
                _ = came.wait(timeout: .now() + .milliseconds(200))
            }
            return true
        }
        do {
            try Self.lines(of: call.request.body, turn) { number, line in
                guard !refused.contains(number), let change = try? DeviceBody.read(line, of: nil, isWhole: true) else {
                    return
                }
                guard wait(until: { $0 < Self.mostUnderWay }) else { throw ReadingStopped() }
                state.withLock { $0.underWay += 1 }
                let command = Command(.changeDevice(change), by: author, if: .bringsNobodyBack)
                writer.record(command, call) { isRecorded in
                    state.withLock { state in
                        state.underWay -= 1
                        if isRecorded { state.recorded += 1 }
                    }
                    came.signal()
                }
            }
        } catch is ReadingStopped {
            // What is on its way has no outcome yet, and the rest was not given.
        }
        _ = wait { $0 == 0 }
        return state.withLock { $0.recorded }
    }
}

extension DeviceBulkEndpoints {
    private static let device: Document = ["$ref": "#/components/schemas/Device"]

    static let lookUp = APIOperation(
        "lookUpDevice", .post, "/v1/devices:lookup", "The device that has an address.", scopes: [.readDevices],
        body: APIOperation.Body([
            "type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
            "properties": [
                "address": ["type": "string", "description": "In the body, so that no log of a proxy has it."],
                "address_sha256": ["type": "string", "pattern": "^[0-9a-f]{64}$"],
            ],
        ]), responses: [APIOperation.Response(.ok, "What it is", device)],
        problems: [.notYet, .audienceNotAllowed, .appNotAllowed])

    static let importAll = APIOperation(
        "importDevices", .post, "/v1/devices:import",
        "Many whole devices, a line of JSON each, with its id in the member device. It may be repeated.",
        scopes: [.writeDevices],
        query: [
            APIOperation.Parameter(
                "partial", "Record what can be used, and report the other lines.", ["type": "string", "enum": ["1"]])
        ],
        body: APIOperation.Body([("application/x-ndjson", ["type": "string"])], largest: largest),
        responses: [
            APIOperation.Response(
                .accepted, "Recorded in Kafka, a command for each line", ["$ref": "#/components/schemas/Imported"])
        ],
        problems: [
            .notYet, .audienceNotAllowed, .appNotAllowed, .outcomeUnknown,
        ])

    static let operations = [lookUp, importAll]

    static let schemas: [(name: String, value: Document)] = [
        (
            "Imported",
            [
                "type": "object", "required": ["read", "recorded", "refused"],
                "properties": [
                    "read": ["type": "integer", "description": "Lines that are not blank."],
                    "recorded": ["type": "integer"],
                    "refused": [
                        "type": "array", "maxItems": .integer(Int64(mostRefused)),
                        "description": "The first of the lines that cannot be used.",
                        "items": [
                            "type": "object", "required": ["line", "code", "detail"],
                            "properties": [
                                "line": ["type": "integer"], "code": ["type": "string"], "detail": ["type": "string"],
                            ],
                        ],
                    ],
                ],
            ]
        )
    ]
}
