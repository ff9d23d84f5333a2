"""Servers for agents, editors and scripts, and what agents get installed."""
