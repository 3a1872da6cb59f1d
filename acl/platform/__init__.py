"""Services of the platform, without a word about rights: Redis, SQL, jobs, JSON, mail, clock."""

__all__ = [
    "answer_model",
    "circuit_breaker",
    "client_address",
    "clock",
    "csv_lines",
    "database_failures",
    "database_triggers",
    "garbage_collection",
    "heartbeat",
    "held_locks",
    "jobs",
    "mail",
    "ordered_json",
    "pooled_connections",
    "prepared_statements",
    "redis_circuit",
    "stored_json",
    "stored_messages",
    "stored_texts",
    "strict_json",
]
