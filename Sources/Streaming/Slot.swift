/// The name of one worker in the group: `<instance.id>-<n>`, or `<instance.id>` of a process's only worker in its group.
package struct Slot: Hashable, Sendable, CustomStringConvertible {
    package var instance: String
    package var number: Int
    /// Of a process's only worker in its group.
    private var name: String?

    package init(instance: String, number: Int, onlyWorker name: String? = nil) {
        self.instance = instance
        self.number = number
        self.name = name
    }

    package var description: String { name == nil ? "\(instance)-\(number)" : instance }
    /// In the process.
    package var label: String { name ?? "worker \(number)" }

    package func transactionalID(group: String) -> String { "\(group).\(self)" }
    package func groupInstanceID(group: String) -> String { "\(group).\(self)" }
}
