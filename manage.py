#!/usr/bin/env python
"""Pegboard's commands: `manage.py help` lists them."""

from marketplace.__main__ import main

if __name__ == "__main__":
    main()
