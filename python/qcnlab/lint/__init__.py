"""Whether the configurations of a fabric fit together."""
