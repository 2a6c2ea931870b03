"""Helm charts of the operators, generated from the same parts as all manifests."""
