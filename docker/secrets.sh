#!/bin/sh
# Makes the secrets that are not there yet, each in a file of docker/secrets that only you can reach;
# keep copies of pegboard_secret_key and pegboard_encryption_keys elsewhere: no backup has them.
set -eu
cd "$(dirname "$0")"
mkdir -p -m 0700 secrets

make_secret() {
  # Read in a container by another account than yours: the folder keeps others out.
  [ -s "secrets/$1" ] || (umask 022 && printf '%s' "$2" >"secrets/$1")
}

make_secret postgres_password "$(openssl rand -hex 32)"
make_secret database_owner_password "$(openssl rand -hex 32)"
make_secret database_password "$(openssl rand -hex 32)"
make_secret redis_password "$(openssl rand -hex 32)"
make_secret pegboard_secret_key "$(openssl rand -hex 32)"
make_secret pegboard_encryption_keys "$(openssl rand -base64 32 | tr '+/' '-_')"
# Of the first admin, whose name is admin: change it once you have signed in.
make_secret pegboard_admin_password "$(openssl rand -hex 12)"
# For docker/compose.outgoing.yaml, and yours to fill: an empty one is none.
for name in pegboard_oidc_client_secret pegboard_embedding_key pegboard_email_url; do
  [ -e "secrets/$name" ] || (umask 022 && : >"secrets/$name")
done
