/// A time that a JSON document has as a number of milliseconds.
@propertyWrapper
package struct Milliseconds: Codable, Hashable, Sendable {
    package var wrappedValue: WallTime

    package init(wrappedValue: WallTime) {
        self.wrappedValue = wrappedValue
    }

    package init(from decoder: any Decoder) throws {
        wrappedValue = WallTime(milliseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue.milliseconds)
    }
}
