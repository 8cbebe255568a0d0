import JSONReader

extension RequestExtractor {
    /// Document 5's object (docs/rules.md §10).
    mutating func readMessage(_ members: MessageMembers) throws(DeadLetter) -> RequestContent {
        try members.refuseUnknownMembers()
        var content = RequestContent()
        content.title = try members.string(.title)
        content.body = try members.string(.body)
        content.titleKey = try members.string(.titleKey)
        content.titleArguments = try arguments(.titleArguments, of: .titleKey, in: members)
        content.bodyKey = try members.string(.bodyKey)
        content.bodyArguments = try arguments(.bodyArguments, of: .bodyKey, in: members)
        content.badge = try badge(of: members)
        content.sound = try members.string(.sound)
        content.icon = try members.string(.icon)
        content.category = try members.string(.category)
        content.collapseKey = try members.string(.collapseKey)
        content.validUntil = try members.time(.validUntil)
        content.isSilent = try members.flag(.silent) ?? false
        let isShown =
            content.title != nil || content.body != nil || content.titleKey != nil || content.bodyKey != nil
        guard isShown || content.isSilent else { throw .nothingToShow }
        custom.begin(.json)
        if let extras = try members.object(.extras) {
            var cursor = extras.members
            while let (name, value) = cursor.next() {
                custom.set(name.bytes, value)
            }
            try refuseReservedKeys(in: "message.extras", isMessage: true)
            noteOverwrittenKey()
            // Nobody could tap it (docs/rules.md §10).
            if linkOrder(), content.isSilent { throw .silentLink }
        }
        return content
    }

    /// A list that is not empty needs its key.
    private func arguments(
        _ name: MessageMember, of key: MessageMember, in members: MessageMembers
    ) throws(DeadLetter) -> JSONValue? {
        guard let list = try members.strings(name) else { return nil }
        guard members.present(key) != nil else { throw .argumentsAlone(name.rawValue, without: key.rawValue) }
        return list
    }

    private func badge(of members: MessageMembers) throws(DeadLetter) -> Int32? {
        guard let value = members.present(.badge) else { return nil }
        guard let badge = value.integer, badge >= 0, badge <= Int32.max else { throw members.wrong(.badge, .badge) }
        return Int32(badge)
    }
}
