"""What a person asks of runs: results, completion times, comparisons, what happened."""
