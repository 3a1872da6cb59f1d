"""The only door outwards: every HTTP request to an address that somebody gave us goes through here.

`addresses` judges what is written (pure, for every process); `backend` judges what a name turns out
to mean, at the moment of connecting. What a package manager or a server's own code do is beyond it.
"""
