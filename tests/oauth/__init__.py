"""OAuth sign-in at servers, with an authorization server on this machine."""
