import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline

/// The events of a request, each as a record of `topic.events`: what a producer of the client's own would have written.
struct EventBody {
    /// An event as a record without its key.
    struct Event {
        var value: [UInt8]
        var headers: [RecordHeader]
    }

    static let mostEvents = 500
    static let mostBytes = 1 << 20
    static let bare = "application/json"
    static let structured = "application/cloudevents+json"
    static let batch = "application/cloudevents-batch+json"

    private(set) var events: [Event]
    let isBatch: Bool

    init(_ request: IncomingRequest, _ reader: inout JSONReader) throws(Problem) {
        let type = request.header("content-type").flatMap { MediaType($0[...]) }?.name
        let isBatch = type == Self.batch
        self.isBatch = isBatch
        let attributes = try Self.attributes(request)
        guard type == Self.bare || attributes.isEmpty else {
            throw Problem(
                .badHeader, "the headers ce-… are those of the binary mode; its Content-Type is \(Self.bare)")
        }
        let body = request.body
        var faults: [Problem.Fault] = []
        let isList = try JSONBody.read(body, &reader, &faults) { value throws(Problem) in
            guard isBatch ? value.isArray : value.isObject else {
                throw Problem(
                    .badRequest,
                    isBatch
                        ? "the body is no list; allowed is a list of events"
                        : "the body is no object; allowed is one event")
            }
            return value.isArray
        }
        if let problem = Problem(faults) { throw problem }
        guard isList else {
            var headers = attributes
            if type == Self.structured || !attributes.isEmpty {
                headers.append(RecordHeader("content-type", Array((type ?? Self.bare).utf8)))
            }
            events = [Event(value: body, headers: headers)]
            return
        }
        let header = RecordHeader("content-type", Array(Self.structured.utf8))
        events = Self.elements(body).map { Event(value: Array($0), headers: [header]) }
        guard (1...Self.mostEvents).contains(events.count) else {
            throw Problem(
                events.isEmpty ? .badRequest : .tooLarge,
                "the body has \(events.isEmpty ? "no" : "too many") events; allowed are 1 to \(Self.mostEvents)")
        }
    }

    /// The attributes of the binary mode, as headers of a record.
    private static func attributes(_ request: IncomingRequest) throws(Problem) -> [RecordHeader] {
        var headers: [RecordHeader] = []
        for header in request.headers where header.name.hasPrefix("ce-") {
            let name = "ce_" + header.name.dropFirst(3)
            guard !headers.contains(where: { $0.name == name }) else {
                throw Problem(.badHeader, "the header \(header.name) is there twice; allowed is once")
            }
            guard let text = header.value.removingPercentEncoding else {
                throw Problem(.badHeader, "the header \(header.name) is not UTF-8 with percent-encoding")
            }
            headers.append(RecordHeader(name, Array(text.utf8)))
        }
        return headers
    }

    /// The elements of a list in their own bytes: no more than show that they are too many.
    ///
    /// - Parameter json: a list, which was read.
    static func elements(_ json: [UInt8]) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        var (depth, start) = (0, 0)
        var isText = false
        var isEscaped = false
        func end(at index: Int) {
            var element = json[start..<index]
            while let byte = element.first, isBlank(byte) { element.removeFirst() }
            while let byte = element.last, isBlank(byte) { element.removeLast() }
            if !element.isEmpty { elements.append(element) }
            start = index + 1
        }
        for (index, byte) in json.enumerated() where elements.count <= mostEvents {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { start = index + 1 }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if depth == 0 { end(at: index) }
            case UInt8(ascii: ",") where depth == 1: end(at: index)
            default: break
            }
        }
        return elements
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D }
}
