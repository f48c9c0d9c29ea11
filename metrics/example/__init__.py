"""The example projects: a classic study, a larger simulated project, and worked examples."""
