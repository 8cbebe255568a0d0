"""What a pipeline has to do: an independent reading of the rules, and the verifier that compares."""
