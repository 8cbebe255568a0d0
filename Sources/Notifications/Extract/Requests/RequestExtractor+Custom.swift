import JSONReader

/// What is the same for `app.data` and `message.extras` (docs/rules.md §8.6).
extension RequestExtractor {
    /// Refuses keys that Carillon, a provider or an app gives a meaning of its own, whatever their value.
    ///
    /// - Parameters:
    ///   - holder: as a sentence names it.
    ///   - pointer: to it.
    func refuseReservedKeys(in holder: StaticString, at pointer: StaticString, isMessage: Bool) throws(RequestFinding) {
        for key in custom.ownKeys {
            if key.isEmpty { try findings.refuse(RequestFinding(.emptyKey(in: holder), at: "\(pointer)/")) }
            let owner = isMessage && JSONText(key) == "type" ? .otherPushes : KeyOwner(of: key)
            if let owner {
                try findings.refuse(
                    RequestFinding(
                        .reservedKey(key, in: holder, for: owner.name),
                        at: "\(pointer)/\(RequestFinding.escape(String(decoding: key, as: UTF8.self)))"))
            }
        }
    }

    /// FCM overwrites it.
    mutating func noteOverwrittenKey() {
        if custom.position(of: "collapse_key") != nil { oddities.overwrittenKeys += 1 }
    }

    /// Writes the type and the id of an order as a deep link has them; whether there is one (docs/rules.md §5.5).
    mutating func linkOrder() -> Bool {
        guard let typePosition = custom.position(of: "order_type"), let idPosition = custom.position(of: "order_id")
        else { return false }
        guard let type = OrderType(custom.value(typePosition)), let id = arena.text(custom.value(idPosition)) else {
            oddities.unlinked += 1
            return false
        }
        custom.replace(typePosition, by: UnsafeRawBufferPointer(type.text))
        custom.replace(idPosition, by: id)
        return true
    }
}
