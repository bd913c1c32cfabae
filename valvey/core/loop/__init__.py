"""The coordinator of one CDU shared by many racks: pure, stepped, as the rack's own core is.

It grants leave to work, shares flow when it is short, keeps neighbours where they were by the CDU's set-point, and
judges what only a whole loop can show. It protects nobody: every rack protects itself without it.
"""
