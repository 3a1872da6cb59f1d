"""Meta-tools: what a model may call to look around the catalogue, and to use what it finds.

Here is only how they are described: what answers them is in `discovery/gateway/metatools/`.
"""
