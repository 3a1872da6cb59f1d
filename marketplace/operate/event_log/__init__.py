"""The event log: audit entries and ended calls, sent to where a SIEM reads them."""
