"""From a module to an executable: pipelines, build, partition, workers, stores, timings and traces."""
