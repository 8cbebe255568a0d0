/// The storage of a declared value. A class, so that the parser can set it in a command that it holds as a constant.
final class Cell<Value: ExpressibleByArgument> {
    private var stored: Value?
    private let declaration: Declaration

    init(
        _ kind: Declaration.Kind, _ initial: Value?, _ help: String, valueName: String, completion: CompletionKind
    ) {
        let initial = initial ?? Value.initial
        stored = initial
        declaration = Declaration(
            kind: kind, names: [], help: help, valueName: valueName, isRequired: initial == nil,
            isRepeated: Value.isRepeated, defaultText: initial?.argumentText ?? "", allowed: Value.allValueStrings,
            expected: Value.expected, completion: completion, store: { _ in false })
    }

    var value: Value {
        guard let stored else { preconditionFailure("a required value was read before the command line was parsed") }
        return stored
    }

    func declaration(names: [String], property: String) -> Declaration {
        var declaration = declaration
        declaration.names = names
        if declaration.valueName.isEmpty { declaration.valueName = property }
        declaration.store = { text in
            guard let next = Value(argument: text) else { return false }
            self.stored = self.stored?.adding(next) ?? next
            return true
        }
        return declaration
    }
}

/// `--name value` or `--name=value`. Required, unless it has a default or is an optional or an array.
@propertyWrapper public struct Option<Value: ExpressibleByArgument>: Declaring {
    let cell: Cell<Value>
    let names: [NameSpecification]
    public var wrappedValue: Value { cell.value }

    public init(
        wrappedValue: Value? = nil, name: [NameSpecification] = [.long], help: String, valueName: String = "",
        completion: CompletionKind = .default
    ) {
        cell = Cell(.option, wrappedValue, help, valueName: valueName, completion: completion)
        names = name
    }

    func declarations(property: String) -> [Declaration] {
        let names = names.map { name in
            switch name {
            case .long: "--" + property
            case .customLong(let name): "--" + name
            case .customShort(let letter): "-" + String(letter)
            }
        }
        return [cell.declaration(names: names, property: property)]
    }
}

/// `--name`: true when it is given.
@propertyWrapper public struct Flag: Declaring {
    let option: Option<String?>
    public var wrappedValue: Bool { option.wrappedValue != nil }

    public init(name: [NameSpecification] = [.long], help: String) { option = Option(name: name, help: help) }

    func declarations(property: String) -> [Declaration] {
        var declarations = option.declarations(property: property)
        declarations[0].kind = .flag
        return declarations
    }
}

/// A word without a name, taken by its place. An array takes all that remain.
@propertyWrapper public struct Argument<Value: ExpressibleByArgument>: Declaring {
    let cell: Cell<Value>
    public var wrappedValue: Value { cell.value }

    public init(wrappedValue: Value? = nil, help: String, completion: CompletionKind = .default) {
        cell = Cell(.argument, wrappedValue, help, valueName: "", completion: completion)
    }

    func declarations(property: String) -> [Declaration] { [cell.declaration(names: [property], property: property)] }
}

/// Options that several commands share, under a title of their own in the help.
@propertyWrapper public struct OptionGroup<Group: ParsableArguments>: Declaring {
    public let wrappedValue = Group()
    let title: String

    public init(title: String) { self.title = title }

    func validate() -> [String] { wrappedValue.validateAll() }

    func declarations(property: String) -> [Declaration] {
        var declarations = wrappedValue.declarations
        for index in declarations.indices { declarations[index].section = title }
        return declarations
    }
}
