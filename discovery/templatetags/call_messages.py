"""Messages and reasons of calls in the reader's language."""

from django import template

from discovery.calls.call_view import translate_message
from discovery.calls.reason_labels import label_reason

register = template.Library()
register.filter("call_message", translate_message)
register.filter("call_reason", label_reason)
