"""The pages of Insights: figures, outcomes, tools, and all of it as CSV."""
