"""Built-in tools: functions that a worker of Pegboard runs itself, a file for each integration."""
