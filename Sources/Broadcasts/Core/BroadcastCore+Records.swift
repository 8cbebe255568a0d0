import DispatchRecords
import Subscriptions

/// The records of a broadcast, for single devices or grouped (docs/rules.md §7.2).
extension BroadcastCore {
    /// An audience as bytes, valid during a call.
    struct AudienceName {
        let audience: UnsafeRawBufferPointer
        /// The key of grouped records, `<audience>/<subscriptions partition>`: all of a channel in one partition of the
        /// dispatch topic would be too much for it.
        let key: UnsafeRawBufferPointer
    }

    mutating func withName<Result>(
        of audience: String, in partition: Int32, _ body: (inout BroadcastCore, AudienceName) throws -> Result
    ) rethrows -> Result {
        var key = "\(audience)/\(partition)"
        return try key.withUTF8 { key in
            let key = UnsafeRawBufferPointer(key)
            let audience = UnsafeRawBufferPointer(rebasing: key.prefix(audience.utf8.count))
            return try body(&self, AudienceName(audience: audience, key: key))
        }
    }

    mutating func write(
        _ device: Device, _ name: AudienceName, into sink: inout some BroadcastSink & ~Copyable
    ) throws {
        switch settings.grouping {
        case .device:
            try sink.dispatch(renderer.render(device, audience: name.audience))
            open.records += 1
        case .audience:
            var records = 0
            try renderer.collect(device, audience: name.audience, key: name.key) { record in
                try sink.dispatch(record)
                records += 1
            }
            open.records += records
        }
    }

    /// Writes the groups that are open.
    mutating func finishGroups(into sink: inout some BroadcastSink & ~Copyable) throws {
        var records = 0
        try renderer.finishGroups { record in
            try sink.dispatch(record)
            records += 1
        }
        open.records += records
    }
}
