"""Access to integrations and capabilities: grants, rules, previews, explanations and pages."""
