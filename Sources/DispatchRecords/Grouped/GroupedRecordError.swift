/// A record with the header `devices` that is no grouped record.
package enum GroupedRecordError: Error, Equatable, Sendable, CustomStringConvertible {
    case header(DispatchRecordError)
    /// The value is something else from this byte on.
    case value(at: Int)
    /// The header says another number than the list has.
    case count(said: Int, found: Int)

    package var description: String {
        switch self {
        case .header(let error): error.description
        case .value(let place): "the value is no list of devices and their message: byte \(place) is another"
        case .count(let said, let found): "the header devices is \(said), the value has \(found)"
        }
    }
}
