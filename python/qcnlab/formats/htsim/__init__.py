"""Files of htsim: connection matrices and topologies read, and what they say as a scenario."""
