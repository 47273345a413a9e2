//! Scenarios, runs, metrics and replications.
