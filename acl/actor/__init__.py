"""Chain of an act: the actor, the credential, and the subject."""
