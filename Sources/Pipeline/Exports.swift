// A host that imports Pipeline writes audience rules, resolvers and sinks: their types come with it.
@_exported import Extraction
@_exported import FanOut
@_exported import Telemetry
