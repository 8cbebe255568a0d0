// Its types are made of times.
@_exported import Time
