/// What the orders may take of the memory that a process may use (ADR 52).
package struct OrderMemory {
    /// In bytes: `state.max-bytes`, and the memory of the process.
    let perPartition: Int
    let available: Int

    package init(_ configuration: PipelineConfiguration, available: Int = ProcessMemory.available()) {
        perPartition = configuration.orders.maxBytes
        self.available = available
    }

    /// How many full partitions a process can own beside everything else in it, for which it needs a quarter.
    var room: Int { available / 4 * 3 / perPartition }

    /// Before the number of partitions is known.
    package var text: String {
        "The orders of a partition take at most \(Self.text(perPartition)) (state.max-bytes), and this process may use "
            + "\(Self.text(available)): room for \(room) full partitions."
    }

    /// What is to be said of a process that may have to own every partition, and whether it is a warning.
    func text(partitions: Int) -> (line: String, isTooMuch: Bool) {
        let line =
            "the orders of \(partitions) partitions take at most \(Self.text(partitions * perPartition)) "
            + "(state.max-bytes), and this process may use \(Self.text(available))"
        return (line, partitions > room)
    }

    private static func text(_ bytes: Int) -> String {
        bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
    }
}
