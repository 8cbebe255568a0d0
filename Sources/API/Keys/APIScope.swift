/// What a key may do. No scope includes another.
package enum APIScope: String, CaseIterable, Sendable {
    case send
    case broadcast
    case writeEvents = "events:write"
    case readTraces = "trace:read"
    case operate
    case readDevices = "devices:read"
    case writeDevices = "devices:write"
    case readPeople = "people:read"
    case writePeople = "people:write"
    case erasePeople = "people:erase"
}
