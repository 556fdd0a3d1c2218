"""Masks secrets, the identity of people and images in what leaves the house."""
