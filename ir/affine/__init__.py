"""Index arithmetic: conversion of SSA values to symbolic expressions, and quasi-affine iterator maps."""
