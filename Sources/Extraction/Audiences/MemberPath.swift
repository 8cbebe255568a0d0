import JSONReader

/// A way from an object to one of the values in it: `customer.id`, or through one list, `customers[*].id`.
///
/// Walking it allocates nothing.
struct MemberPath: Equatable, Sendable {
    private static let maxSteps = 8

    /// The names, one after the other, and where each ends.
    private let names: [UInt8]
    private let ends: [Int]
    /// The number of names up to the list; nil without one.
    private let listDepth: Int?

    /// - Parameter whole: what the path is a part of, for the sentence.
    init(_ text: String, of whole: String) throws(InvalidForm) {
        var names: [UInt8] = []
        var ends: [Int] = []
        var listDepths: [Int] = []
        var isWrong = false
        for step in text.split(separator: ".", omittingEmptySubsequences: false) {
            let isList = step.hasSuffix("[*]")
            let name = isList ? step.dropLast(3) : step
            isWrong = isWrong || !Self.isName(name.utf8)
            names += name.utf8
            ends.append(names.count)
            if isList { listDepths.append(ends.count) }
        }
        guard !isWrong, ends.count <= Self.maxSteps, listDepths.count <= 1 else {
            throw InvalidForm(
                problems: [
                    "'\(whole)' names no member: allowed are at most \(Self.maxSteps) names with dots between, one of them "
                        + "with [*] for each element of its list, such as {customer.id} or {customers[*].id}"
                ])
        }
        self.names = names
        self.ends = ends
        listDepth = listDepths.first
    }

    /// Whether one of the names can be this one.
    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && !bytes.contains { $0 < 0x20 || $0 == 0x7F || "{}[]*/.".utf8.contains($0) }
    }

    /// Whether it goes through a list.
    var isList: Bool { listDepth != nil }

    /// What it leads to; with a list, the list.
    func value(in object: JSONValue?) -> JSONValue? { walk(object, 0..<(listDepth ?? ends.count)) }

    /// What the rest of it leads to, from an element of the list.
    func value(inElement element: JSONValue) -> JSONValue? { walk(element, (listDepth ?? 0)..<ends.count) }

    private func walk(_ object: JSONValue?, _ steps: Range<Int>) -> JSONValue? {
        names.withUnsafeBytes { names in
            var value = object
            for step in steps {
                let start = step == 0 ? 0 : ends[step - 1]
                value = value?.member(UnsafeRawBufferPointer(rebasing: names[start..<ends[step]]))
            }
            return value
        }
    }
}
