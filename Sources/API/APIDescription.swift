import Notifications

/// The whole of the API, as `/openapi.json` and Schemas/openapi.json have it.
package enum APIDescription {
    /// - Parameter version: of the program.
    package static func document(_ endpoints: [APIOperation], version: String) -> Document {
        Router.openAPI(
            endpoints, version: version,
            schemas: RequestSchemas.all + LookEndpoints.schemas + BroadcastSchemas.all + EventEndpoints.schemas
                + ControlEndpoints.schemas + DeviceEndpoints.schemas + PersonEndpoints.schemas
                + ErasureEndpoints.schemas
                + CommandEndpoints.schemas + DeviceBulkEndpoints.schemas + AudienceEndpoints.schemas)
    }

    /// Every operation that there is; a process has those whose settings are there.
    package static let operations =
        RequestEndpoints.operations + LookEndpoints.operations + BroadcastEndpoints.operations
        + EventEndpoints.operations + ControlEndpoints.operations + DeviceEndpoints.operations
        + PersonEndpoints.operations + ErasureEndpoints.operations + CommandEndpoints.operations
        + DeviceBulkEndpoints.operations + PersonExport.operations + ReceiptEndpoints.operations
        + AudienceEndpoints.operations
        + ContractEndpoints.operations
}
