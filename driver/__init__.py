"""From a module to an executable: pipelines, build, partitioning, workers, caches, timings and traces."""
