/// Something that is wrong with a request or a broadcast: the dead letter that it makes of its record, and its place.
package struct RequestFinding: Error, Equatable, Sendable {
    package let letter: DeadLetter
    /// A JSON pointer (RFC 6901) into the object inside all envelopes; empty: the whole of it.
    package let pointer: String

    package init(_ letter: DeadLetter, at pointer: String = "") {
        self.letter = letter
        self.pointer = pointer
    }

    /// A member's name as a part of a JSON pointer.
    package static func escape(_ name: String) -> String {
        // Nearly every name is as it is.
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        var escaped = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// Everything that is wrong with the record that was read last, in the order in which it is checked: the first finding is
/// the dead letter. One owner.
///
/// The daemon collects nothing: it ends a record at its first problem, and allocates only for that.
package final class RequestFindings {
    /// More are not kept.
    package static let most = 100

    package private(set) var all: [RequestFinding] = []

    package init() {}

    package func removeAll() { all.removeAll(keepingCapacity: true) }

    fileprivate func add(_ finding: @autoclosure () -> RequestFinding) {
        guard all.count < Self.most else { return }
        let finding = finding()
        if !all.contains(finding) { all.append(finding) }
    }
}

extension RequestFindings? {
    /// Keeps a finding and goes on; throws it where nobody collects.
    func refuse(_ finding: @autoclosure () -> RequestFinding) throws(RequestFinding) {
        guard let self else { throw finding() }
        self.add(finding())
    }

    /// What is read; nil if it is absent, or refused.
    func attempt<Value>(_ read: @autoclosure () throws(RequestFinding) -> Value?) throws(RequestFinding) -> Value? {
        do throws(RequestFinding) {
            return try read()
        } catch {
            try refuse(error)
            return nil
        }
    }

    /// - Throws: the first finding, if there is any.
    func end() throws(RequestFinding) {
        if let first = self?.all.first { throw first }
    }

    /// The dead letter of a record that was refused.
    func letter(_ last: RequestFinding) -> DeadLetter {
        guard let self else { return last.letter }
        self.add(last)
        return self.all.first?.letter ?? last.letter
    }
}
