"""PyTorch models as Relax: exported programs and torch.fx graphs. PyTorch is imported lazily."""
