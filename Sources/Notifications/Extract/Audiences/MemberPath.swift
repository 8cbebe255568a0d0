import JSONReader

/// A way from an object to one of the values in it: `customer.id`, or through one list, `customers[*].id`.
///
/// Walking it allocates nothing.
struct MemberPath: Equatable, Sendable {
    static let maxSteps = 8
    /// In bytes, of one that is not in a template.
    static let maxCount = 200

    /// As it is written.
    let text: String
    /// The names, one after the other, and where each ends.
    private let names: [UInt8]
    private let ends: [Int]
    /// The number of names up to the list; nil without one.
    private let listDepth: Int?

    /// - Parameter whole: what the path is a part of, for the sentence.
    init(_ text: String, of whole: String) throws(InvalidForm) {
        guard let path = Self(text, mayBeList: true) else {
            throw InvalidForm(
                problems: [
                    "'\(whole)' names no member: allowed are at most \(Self.maxSteps) names with dots between, one of them "
                        + "with [*] for each element of its list, such as {customer.id} or {customers[*].id}"
                ])
        }
        self = path
    }

    /// Nil if it is none.
    ///
    /// - Parameter mayBeList: whether one of the names may have `[*]`.
    init?(_ text: String, mayBeList: Bool) {
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
        guard !isWrong, text.utf8.count <= Self.maxCount, ends.count <= Self.maxSteps,
            listDepths.count <= (mayBeList ? 1 : 0)
        else { return nil }
        self.text = text
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

    /// The first name.
    var first: [UInt8] { Array(names[..<(ends.first ?? 0)]) }

    /// What the names after the first one lead to, from the value of the first one.
    func value(fromFirst value: JSONValue) -> JSONValue? { walk(value, 1..<ends.count) }

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
