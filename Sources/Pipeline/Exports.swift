// A host that imports Pipeline writes audience rules, resolvers and sinks: their types come with it.
@_exported import DispatchRecords
@_exported import Events
@_exported import Extraction
@_exported import FanOut
@_exported import Hosting
@_exported import OrderState
@_exported import Subscriptions
@_exported import Telemetry
