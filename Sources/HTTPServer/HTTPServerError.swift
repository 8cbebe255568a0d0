/// Why a server cannot listen. The description names the address and gives the system's reason.
package struct HTTPServerError: Error, CustomStringConvertible {
    package var address: String
    package var reason: String

    package var description: String { "cannot serve HTTP at \(address): \(reason)" }
}
