"""The parts that windows are made of."""
