"""TVM's memory planning in Relax: explicit outputs, shared storage, tensors freed after their last use."""
