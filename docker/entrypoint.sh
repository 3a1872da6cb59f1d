#!/bin/sh
# What a container does: set-up, web, worker, connections, beat, or any of manage.py's commands, such
# as broker.
# `healthy` says whether it does so.
set -eu

role_file=${TMPDIR:-/tmp}/pegboard-role
alive_file=${TMPDIR:-/tmp}/pegboard-alive

if [ "${1:-}" = healthy ]; then
  case $(cat "$role_file") in
    web)
      # Any answer will do: it may be a redirect to HTTPS, or that localhost is not served.
      exec python -c "
from http.client import HTTPConnection
connection = HTTPConnection('127.0.0.1', ${PORT:-8000}, timeout=5)
connection.request('GET', '/livez')
connection.getresponse()"
      ;;
    worker | connections)
      # Celery's heart beats every two seconds, and touches this.
      [ -n "$(find "$alive_file" -mmin -1)" ]
      ;;
  esac
  exit  # the others do nothing but what their process does: it is there, or the container is not
fi

# A secret that the engine mounts as a file is taken from there; an empty one is none.
secrets=${SECRETS_DIR:-/run/secrets}
for name in DATABASE_URL DATABASE_OWNER_URL DATABASE_SUPERUSER_URL REDIS_URL \
  PEGBOARD_SECRET_KEY PEGBOARD_ENCRYPTION_KEYS PEGBOARD_ADMIN_PASSWORD PEGBOARD_EMAIL_URL \
  PEGBOARD_OIDC_CLIENT_SECRET PEGBOARD_EMBEDDING_KEY; do
  file=$secrets/$(echo "$name" | tr '[:upper:]' '[:lower:]')
  if [ -r "$file" ] && [ -s "$file" ]; then
    export "$name=$(cat "$file")"
  fi
done

# An address without a password gets that of its role, where the container has been given it.
add_password() {
  eval "url=\${$1:-}"
  if [ -z "$url" ] || [ ! -r "$secrets/$2" ]; then return; fi
  password=$(cat "$secrets/$2")
  case ${url#*://} in
    *:*@*) ;;
    *@*) export "$1=${url%%@*}:$password@${url#*@}" ;;
    *) export "$1=${url%%://*}://:$password@${url#*://}" ;;
  esac
}
add_password DATABASE_URL database_password
add_password PEGBOARD_REPLICA_URL database_password
add_password DATABASE_OWNER_URL database_owner_password
add_password DATABASE_SUPERUSER_URL postgres_password
add_password REDIS_URL redis_password

# As many web processes as fit into the container's memory; each is replaced before it takes another's.
process_megabytes=260
fit_memory() {
  group=${CGROUP_DIR:-/sys/fs/cgroup}
  limit=$(cat "$group/memory.max" 2>/dev/null \
    || cat "$group/memory/memory.limit_in_bytes" 2>/dev/null || echo max)
  case $limit in *[!0-9]* | '') return ;; esac
  megabytes=$((limit / 1048576 - 100))
  fitting=$((megabytes / process_megabytes))
  [ "$fitting" -ge 1 ] || fitting=1
  wanted=${WEB_CONCURRENCY:-2}
  if [ "$wanted" -gt "$fitting" ]; then
    echo "WEB_CONCURRENCY=$wanted needs $((wanted * process_megabytes + 100)) MB, and the limit is" \
      "$((limit / 1048576)) MB: $fitting of them start. Raise WEB_MEMORY." >&2
    export WEB_CONCURRENCY="$fitting"
  fi
  share=$((megabytes / ${WEB_CONCURRENCY:-2}))
  if [ -z "${PEGBOARD_WEB_MEMORY_MEGABYTES:-}" ] && [ "$share" -lt 700 ]; then
    export PEGBOARD_WEB_MEMORY_MEGABYTES="$share"
  fi
}

# Sessions are the web's; the broker has nothing to do with the queue.
case ${1:-web} in
  broker) needed="DATABASE_URL PEGBOARD_ENCRYPTION_KEYS" ;;
  worker | connections | beat | watch_capabilities | load_capabilities) needed="DATABASE_URL REDIS_URL" ;;
  *) needed="DATABASE_URL REDIS_URL PEGBOARD_SECRET_KEY" ;;
esac
for name in $needed; do
  eval "value=\${$name:-}"
  if [ -z "$value" ]; then
    echo "Pegboard cannot run: $name is not set." >&2
    exit 1
  fi
done

command=${1:-web}
[ $# -eq 0 ] || shift
case $command in
  web | worker | connections | beat) echo "$command" >"$role_file" ;;
  *) [ -e "$role_file" ] || echo "$command" >"$role_file" ;;
esac
case $command in
  web)
    fit_memory
    exec gunicorn --config=python:marketplace.operate.embedded.gunicorn_config --bind="0.0.0.0:${PORT:-8000}" \
      --worker-tmp-dir=/dev/shm "$@" marketplace.config.wsgi
    ;;
  worker)
    export PEGBOARD_ALIVE_FILE="$alive_file"
    exec celery --app=marketplace.config.celery worker --loglevel=INFO \
      --concurrency="${WORKER_CONCURRENCY:-1}" "$@"
    ;;
  connections)
    export PEGBOARD_ALIVE_FILE="$alive_file"
    exec celery --app=marketplace.config.celery_servers worker --loglevel=INFO --queues=servers \
      --hostname=servers@%h --pool=threads --concurrency="${CONNECTIONS_CONCURRENCY:-16}" "$@"
    ;;
  beat)
    exec celery --app=marketplace.config.celery beat --loglevel=INFO \
      --schedule="${TMPDIR:-/tmp}/beat-schedule" --pidfile= "$@"
    ;;
  set-up)
    exec python manage.py set_up --only=database "$@"
    ;;
  *)
    exec python manage.py "$command" "$@"
    ;;
esac
