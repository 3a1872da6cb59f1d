"""Where django-allauth asks us how accounts, codes and providers work here."""
