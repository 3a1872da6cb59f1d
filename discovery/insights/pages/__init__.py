"""The pages of Insights: figures, outcomes, tools, and downloads."""
