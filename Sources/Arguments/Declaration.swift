/// How an option can be spelled. `.long` is the property's name in lower case with hyphens.
public enum NameSpecification: Sendable {
    case long
    case customLong(String)
    case customShort(Character)
}

/// What a shell's completion offers for a value.
public enum CompletionKind: Sendable {
    case `default`, file
    case list([String])
}

/// One option, flag or argument, without its type.
struct Declaration {
    enum Kind {
        case option, flag, argument

        /// Given by a name with hyphens, and not by its place.
        var isNamed: Bool {
            switch self {
            case .option, .flag: true
            case .argument: false
            }
        }

        var takesValue: Bool {
            switch self {
            case .option, .argument: true
            case .flag: false
            }
        }
    }

    var kind: Kind
    /// With their hyphens; for an argument only its name.
    var names: [String]
    var help: String
    var valueName: String
    var section = ""
    var isRequired: Bool
    var isRepeated: Bool
    var defaultText: String
    var allowed: [String]
    /// What is allowed where that cannot be listed.
    var expected: String
    var completion: CompletionKind
    /// Stores one value; false if it is not valid.
    var store: (String) -> Bool

    var name: String { names.last ?? "" }
    /// `--log-level <level>` or `<file>`.
    var label: String {
        switch kind {
        case .flag: names.joined(separator: ", ")
        case .option: names.joined(separator: ", ") + " <\(valueName)>"
        case .argument: "<\(valueName)>" + (isRepeated ? "…" : "")
        }
    }
}

/// A property wrapper that declares something on the command line.
protocol Declaring {
    /// - Parameter property: its name in lower case with hyphens.
    func declarations(property: String) -> [Declaration]
    func validate() -> [String]
}

extension Declaring {
    func validate() -> [String] { [] }
}

extension ParsableArguments {
    /// Its own problems after those of its groups.
    func validateAll() -> [String] {
        Mirror(reflecting: self).children.flatMap { ($0.value as? any Declaring)?.validate() ?? [] } + validate()
    }

    /// In the order of the properties.
    var declarations: [Declaration] {
        Mirror(reflecting: self).children.flatMap { child in
            let name = (child.label ?? "").drop { $0 == "_" }.reduce(into: "") {
                $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1)
            }
            return (child.value as? any Declaring)?.declarations(property: name) ?? []
        }
    }
}
