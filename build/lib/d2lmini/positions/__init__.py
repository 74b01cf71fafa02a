"""Positions: added to the tokens, or inside attention."""
