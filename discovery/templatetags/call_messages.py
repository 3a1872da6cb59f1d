"""Messages of calls in the reader's language."""

from django import template

from discovery.calls.call_view import translate_message

register = template.Library()
register.filter("call_message", translate_message)
