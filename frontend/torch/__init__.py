"""Models of PyTorch as Relax: exported programs, graphs of torch.fx. PyTorch is imported where it is used."""
