import JSONReader

extension RequestExtractor {
    /// Document 5's object (docs/rules.md §10).
    mutating func readMessage(_ members: MessageMembers) throws(RequestFinding) -> RequestContent {
        try members.refuseUnknownMembers(findings)
        var content = RequestContent()
        content.title = try string(.title, in: members)
        content.body = try string(.body, in: members)
        content.titleKey = try string(.titleKey, in: members)
        content.titleArguments = try arguments(.titleArguments, of: .titleKey, in: members)
        content.bodyKey = try string(.bodyKey, in: members)
        content.bodyArguments = try arguments(.bodyArguments, of: .bodyKey, in: members)
        content.badge = try badge(of: members)
        content.sound = try string(.sound, in: members)
        content.icon = try string(.icon, in: members)
        content.category = try string(.category, in: members)
        content.collapseKey = try string(.collapseKey, in: members)
        content.validUntil = try findings.attempt(try members.time(.validUntil))
        let silent = try findings.attempt(try members.flag(.silent))
        content.isSilent = silent ?? false
        let isShown =
            members.present(.title) != nil || members.present(.body) != nil || members.present(.titleKey) != nil
            || members.present(.bodyKey) != nil
        let maybeSilent = silent ?? (members.present(.silent) != nil)
        if !isShown, !maybeSilent { try findings.refuse(RequestFinding(.nothingToShow, at: "/message")) }
        custom.begin(.json)
        if let extras = try findings.attempt(try members.object(.extras)) {
            var cursor = extras.members
            while let (name, value) = cursor.next() {
                custom.set(name.bytes, value)
            }
            try refuseReservedKeys(in: "message.extras", at: "/message/extras", isMessage: true)
            noteOverwrittenKey()
            // Nobody could tap it (docs/rules.md §10).
            if linkOrder(), content.isSilent { try findings.refuse(RequestFinding(.silentLink, at: "/message")) }
        }
        return content
    }

    private func string(
        _ name: MessageMember, in members: MessageMembers
    ) throws(RequestFinding) -> UnsafeRawBufferPointer? {
        try findings.attempt(try members.string(name))
    }

    /// A list that is not empty needs its key.
    private func arguments(
        _ name: MessageMember, of key: MessageMember, in members: MessageMembers
    ) throws(RequestFinding) -> JSONValue? {
        guard let list = try findings.attempt(try members.strings(name, findings)) else { return nil }
        if members.present(key) == nil {
            try findings.refuse(
                RequestFinding(.argumentsAlone(name.rawValue, without: key.rawValue), at: MessageMembers.pointer(name)))
        }
        return list
    }

    private func badge(of members: MessageMembers) throws(RequestFinding) -> Int32? {
        guard let value = members.present(.badge) else { return nil }
        guard let badge = value.integer, badge >= 0, badge <= Int32.max else {
            try findings.refuse(members.wrong(.badge, .badge))
            return nil
        }
        return Int32(badge)
    }
}
