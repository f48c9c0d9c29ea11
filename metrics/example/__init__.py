"""The example projects: a classic study, and a larger simulated one."""
