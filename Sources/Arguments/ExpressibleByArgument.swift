/// A value that is read from the command line.
public protocol ExpressibleByArgument {
    init?(argument: String)
    /// All values, if they can be listed; for help, messages and completion.
    static var allValueStrings: [String] { get }
    /// What is allowed where the values cannot be listed, as in `expected a number`.
    static var expected: String { get }
    /// As it would be typed; empty if there is nothing to type.
    var argumentText: String { get }
    /// The value if none is given; nil means that one is required.
    static var initial: Self? { get }
    static var isRepeated: Bool { get }
    /// The value after one more word.
    func adding(_ next: Self) -> Self
}

extension ExpressibleByArgument {
    public static var allValueStrings: [String] { [] }
    public static var expected: String { "a number" }
    public static var initial: Self? { nil }
    public static var isRepeated: Bool { false }
    public func adding(_ next: Self) -> Self { next }
}

extension ExpressibleByArgument where Self: RawRepresentable & CaseIterable, RawValue == String {
    public init?(argument: String) { self.init(rawValue: argument) }
    public var argumentText: String { rawValue }
    public static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension ExpressibleByArgument where Self: LosslessStringConvertible {
    public init?(argument: String) { self.init(argument) }
    public var argumentText: String { description }
}

extension String: ExpressibleByArgument {}
extension Int: ExpressibleByArgument {}

extension Optional: ExpressibleByArgument where Wrapped: ExpressibleByArgument {
    public init?(argument: String) {
        guard let value = Wrapped(argument: argument) else { return nil }
        self = .some(value)
    }
    public static var allValueStrings: [String] { Wrapped.allValueStrings }
    public static var expected: String { Wrapped.expected }
    public static var initial: Self? { .some(nil) }
    public var argumentText: String { self?.argumentText ?? "" }
}

extension Array: ExpressibleByArgument where Element: ExpressibleByArgument {
    public init?(argument: String) {
        guard let value = Element(argument: argument) else { return nil }
        self = [value]
    }
    public static var allValueStrings: [String] { Element.allValueStrings }
    public static var expected: String { Element.expected }
    public static var initial: Self? { [] }
    public static var isRepeated: Bool { true }
    public var argumentText: String { map(\.argumentText).joined(separator: ",") }
    public func adding(_ next: Self) -> Self { self + next }
}
