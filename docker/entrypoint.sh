#!/bin/sh
# What a container does: set-up, web, worker, connections, beat, or any of manage.py's commands.
set -eu

for name in DATABASE_URL REDIS_URL PEGBOARD_SECRET_KEY; do
  eval "value=\${$name:-}"
  if [ -z "$value" ]; then
    echo "Pegboard cannot run: $name is not set." >&2
    exit 1
  fi
done

command=${1:-web}
[ $# -eq 0 ] || shift
case $command in
  web)
    exec gunicorn --config=python:marketplace.embedded.web --bind="0.0.0.0:${PORT:-8000}" \
      --worker-tmp-dir=/dev/shm "$@" marketplace.config.wsgi
    ;;
  worker)
    exec celery --app=marketplace.config.celery worker --loglevel=INFO \
      --concurrency="${WORKER_CONCURRENCY:-1}" "$@"
    ;;
  connections)
    exec celery --app=marketplace.config.celery_servers worker --loglevel=INFO --queues=servers \
      --hostname=servers@%h --pool=threads --concurrency="${CONNECTIONS_CONCURRENCY:-16}" "$@"
    ;;
  beat)
    exec celery --app=marketplace.config.celery beat --loglevel=INFO \
      --schedule=/tmp/beat-schedule --pidfile= "$@"
    ;;
  set-up)
    exec python manage.py set_up --only=database "$@"
    ;;
  *)
    exec python manage.py "$command" "$@"
    ;;
esac
