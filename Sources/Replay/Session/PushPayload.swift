import JSONReader

/// The value of a dispatch record split into its members, for comparisons and for people: by path; members of the
/// app's own payload by their bare names. Not for the hot path.
package struct PushPayload: Equatable {
    /// In document order.
    package private(set) var members: [(name: String, value: String)] = []

    /// - Returns: nil if the value is no JSON object.
    package init?(value: [UInt8]) {
        var reader = JSONReader()
        let isRead = value.withUnsafeBytes { bytes in
            guard let document = try? reader.parse(bytes), document.isObject else { return false }
            flatten(document, path: "")
            return true
        }
        guard isRead else { return nil }
        for index in members.indices.reversed() where members[index].name.hasSuffix("default") {
            open(index)
        }
    }

    package subscript(name: String) -> String? { members.first { $0.name == name }?.value }

    /// The device's token, wherever a provider's message has one.
    package var tokens: [String] {
        let names = AddressKind.allCases.map(\.member)
        return members.filter { member in
            member.name.split(separator: ".").last.map { names.contains(String($0)) } ?? false
        }.map(\.value)
    }

    /// The id by which a device replaces what it shows; nil in a push that has none.
    func collapseKey(_ platform: Platform) -> String? {
        self[platform.collapseKey.map(\.description).joined(separator: ".")]
    }

    package static func == (left: PushPayload, right: PushPayload) -> Bool {
        left.members.elementsEqual(right.members) { $0 == $1 }
    }

    /// Replaces the payload, a string, by its members.
    private mutating func open(_ index: Int) {
        var reader = JSONReader()
        var inner: [(name: String, value: String)] = []
        Array(members[index].value.utf8).withUnsafeBytes { bytes in
            guard let data = (try? reader.parse(bytes))?.member("data"), data.isObject else { return }
            let outer = members
            members = []
            flatten(data, path: "")
            inner = members
            members = outer
        }
        guard !inner.isEmpty else { return }
        members.replaceSubrange(index...index, with: inner)
    }

    private mutating func flatten(_ value: JSONValue, path: String) {
        if value.isObject {
            var cursor = value.members
            while let (name, member) = cursor.next() {
                let name = String(decoding: name.bytes, as: UTF8.self)
                flatten(member, path: path.isEmpty ? name : "\(path).\(name)")
            }
        } else if value.isArray {
            var cursor = value.elements
            var index = 0
            while let element = cursor.next() {
                flatten(element, path: "\(path)[\(index)]")
                index += 1
            }
        } else {
            members.append((path, Self.text(value)))
        }
    }

    private static func text(_ value: JSONValue) -> String {
        if let text = value.string { return String(decoding: text.bytes, as: UTF8.self) }
        if let number = value.integer { return "\(number)" }
        if let number = value.unsigned { return "\(number)" }
        if let number = value.double { return "\(number)" }
        return value.boolean.map { "\($0)" } ?? "null"
    }
}
