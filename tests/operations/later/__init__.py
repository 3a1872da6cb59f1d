"""What a later Pegboard might bring: an app whose one migration only adds."""
