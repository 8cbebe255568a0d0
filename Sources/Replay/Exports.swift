// The types of the pipeline that this target's own API is made of.
@_exported import Pipeline
