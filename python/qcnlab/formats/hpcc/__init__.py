"""The files of HPCC's simulator: topology, flows, configuration, sizes, results."""
