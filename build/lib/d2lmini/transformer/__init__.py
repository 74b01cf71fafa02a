"""The Transformer: blocks and stacks."""
