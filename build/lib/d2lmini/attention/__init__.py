"""Attention: pooling, heads, masks."""
