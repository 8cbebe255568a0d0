// Its public types are made of times.
@_exported import Time
