"""Tests of the model: the rules of the documents, and a verifier that notices every kind of difference."""
