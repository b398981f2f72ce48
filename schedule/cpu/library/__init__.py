"""What the rules share: loop transformations, packed data, parts of microkernels."""
