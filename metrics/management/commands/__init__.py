"""Agreement of a file, audit, recount, reports, examples and simulated ratings."""
