#!/bin/sh
# Writes docker/compose.digests.yaml: the bases and servers of today by digest, so that each build and each
# machine has the same ones. Give it as another -f, keep it with your settings, and run this again to renew.
set -eu
cd "$(dirname "$0")"

pinned() {
  image=$(grep -ohE "(FROM|image:) +$1:[^ ]+" Dockerfile compose.yaml | head -n 1 | sed -E 's/^(FROM|image:) +//')
  digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image")
  echo "$image@$digest"
}

python=$(pinned python)
node=$(pinned node)
postgres=$(pinned pgvector/pgvector)
redis=$(pinned redis)
proxy=$(pinned caddy)
cat >compose.digests.yaml <<END
services:
  set-up: {build: &bases {args: {PYTHON_IMAGE: "$python", NODE_IMAGE: "$node"}}}
  connections: {build: *bases}
  postgres: {image: "$postgres"}
  redis: {image: "$redis"}
  proxy: {image: "$proxy"}
END
echo "docker/compose.digests.yaml is written."
