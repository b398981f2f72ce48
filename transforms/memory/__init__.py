"""Memory in relax: explicit outputs, storage that is planned and shared, tensors freed after their last use."""
