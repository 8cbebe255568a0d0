/// The name of one worker in the group: `<instance.id>-<n>`.
package struct Slot: Hashable, Sendable, CustomStringConvertible {
    package var instance: String
    package var number: Int

    package init(instance: String, number: Int) {
        self.instance = instance
        self.number = number
    }

    package var description: String { "\(instance)-\(number)" }
    /// In the process.
    package var label: String { "worker \(number)" }

    package func transactionalID(group: String) -> String { "\(group).\(self)" }
    package func groupInstanceID(group: String) -> String { "\(group).\(self)" }
}
