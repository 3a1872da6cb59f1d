"""OAuth 2.1 sign-in at servers, in the worker that sends requests.

It talks to the server, the authorization server this names, and the endpoints that one names.
`catalog.servers.net` checks each address; redirects are not followed. Codes, verifiers, tokens and
client secrets must not leak.
"""
