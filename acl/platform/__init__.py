"""Services of the platform, without a word about rights: Redis, SQL, jobs, JSON, mail, clock."""
