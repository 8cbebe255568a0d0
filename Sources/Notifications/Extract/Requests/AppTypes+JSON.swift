import JSONReader

extension AppTypes {
    /// Reads `{"LoyaltyPoints":{"fixed":{"view":"points"},"expected":["points"]}}`; both members are optional.
    public init(json: [UInt8]) throws(InvalidForm) {
        let types = try Form.read(json) { value, file in
            file.object(value, as: "it") { file in
                var types: [AppType] = []
                for (name, value) in file.members {
                    let type = file.object(value, as: name.isEmpty ? "a type" : name) { form in
                        if name.isEmpty { form.problem("has no name") }
                        if Self.documented.contains(where: { $0.name == name }) { form.problem("is a type already") }
                        if types.contains(where: { $0.name == name }) { form.problem("is there twice") }
                        return AppType(name, &form)
                    }
                    if let type { types.append(type) }
                }
                return types
            }
        }
        self.init(added: types)
    }
}

extension AppTypes.AppType {
    fileprivate init(_ name: String, _ form: inout Form) {
        form.only("fixed", "expected")
        var fixed: [AppTypes.FixedPair] = []
        if let value = form["fixed"] {
            fixed = form.object(value, as: "fixed of \(name)") { AppTypes.FixedPair.list(&$0) } ?? []
        }
        let expected = form.texts("expected", mayBeEmpty: true)
        for key in expected { form.check(key: key) }
        self.init(name, fixed, expected: expected)
    }
}

extension AppTypes.FixedPair {
    fileprivate static func list(_ form: inout Form) -> [Self] {
        var pairs: [Self] = []
        for (key, _) in form.members {
            form.check(key: key)
            if pairs.contains(where: { $0.key == key }) { form.problem("has the member '\(key)' twice") }
            if let value = form.text(key, mayBeEmpty: true) { pairs.append(Self(key: key, value: value)) }
        }
        return pairs
    }
}

extension Form {
    fileprivate mutating func check(key: String) {
        var key = key
        let owner = key.withUTF8 { KeyOwner(of: UnsafeRawBufferPointer($0)) }
        if key.isEmpty {
            problem("has an empty key")
        } else if let owner {
            problem("has the key '\(key)', which is reserved for \(owner.name)")
        } else if ["type", "imageUrl", "order_type", "order_id"].contains(key) {
            problem("has the key '\(key)', which is not allowed")
        }
    }
}
