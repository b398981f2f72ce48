"""Code shared by the rules: loop transformations, packed data, parts of microkernels."""
