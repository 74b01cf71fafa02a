"""Marking: run the notebooks that came back from a class, and check what they define.

`plan` reads a notebook and says which cells to run and what to check, `attempt` does that in a process of its own,
`sandbox` sets its limits, `report` writes the marks, and `__main__` does it for a folder.
"""
