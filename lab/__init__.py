"""What Pegboard is measured and trained with. It is no part of the product."""
