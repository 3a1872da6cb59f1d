"""What answers the meta-tools: a file for each family, as in `discovery/gateway/definitions/`.

Every answer is made of what the caller may use, by the services that everybody else asks, too.
"""
