import Pipeline

/// What can be replayed, wherever its records come from.
package protocol ReplaySource: ~Copyable {
    /// What is known about the input; for files only after reading.
    var input: ReplayInput { get }

    /// Replays everything.
    ///
    /// - Parameter other: rules instead of its own; nil: its own.
    mutating func run<Sink: ReplaySink & ~Copyable>(
        into sink: consuming Sink, with other: PipelineConfiguration?
    ) throws -> Sink

    /// Compares the output of its own rules with that of others. "There" is the output of its own.
    mutating func diff(with other: PipelineConfiguration) throws -> DiffReport
}

extension ReplaySource where Self: ~Copyable {
    package mutating func run<Sink: ReplaySink & ~Copyable>(into sink: consuming Sink) throws -> Sink {
        try run(into: sink, with: nil)
    }

    mutating func compare(
        with other: PipelineConfiguration, topics: PipelineConfiguration.Topics, scratch: Scratch
    ) throws -> DiffReport {
        let index = try DispatchIndex(store: try scratch.store("rendered"), topics: topics)
        _ = try run(into: IndexSink(index), with: nil)
        try index.flush()
        let unequal = UnequalRecords(store: try scratch.store("unequal"))
        var sink = try run(into: DiffSink(index, unequal: unequal), with: other)
        return try sink.finish(input.done)
    }
}
