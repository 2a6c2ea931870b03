"""Agents of every OpenStack image: what users configure is tried before programs read it."""
