@_exported import Hosting
// A host that imports Pipeline writes audience rules, resolvers and sinks: their types come with it.
@_exported import Notifications
@_exported import Telemetry
