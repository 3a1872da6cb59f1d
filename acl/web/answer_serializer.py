"""Serializers of answers, made of the dataclasses that they answer (`answer_model`)."""

from dataclasses import is_dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from rest_framework import serializers

from acl.platform.answer_model import Field, fields_of, without_none

_PLAIN: dict[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    UUID: serializers.UUIDField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
    Any: serializers.JSONField,
}


@lru_cache(maxsize=256)
def serializer_for(model: type) -> Any:
    """Return the serializer class of a model, which OpenAPI calls by its `component`."""
    name = model.__dict__.get("component") or model.__name__
    attributes = {field.name: _field(field) for field in fields_of(model)}
    about = {"__doc__": model.__doc__, "__module__": model.__module__}
    return type(f"{name}Serializer", (serializers.Serializer,), attributes | about)


def page_serializer(item: Any, name: str, about: str) -> Any:
    """Return the serializer class of a page of a list, with how far the list goes."""
    attributes = {
        "__doc__": about,
        "__module__": item.__module__,
        "items": item(many=True),
        "total": serializers.IntegerField(),
        "has_more": serializers.BooleanField(),
        "limit": serializers.IntegerField(),
        "offset": serializers.IntegerField(),
    }
    return type(f"{name}Serializer", (serializers.Serializer,), attributes)


def _field(field: Field) -> Any:
    display, kind = field.shown, without_none(field.type)
    options: dict[str, Any] = {} if field.source == field.name else {"source": field.source}
    if kind is not field.type:
        options["allow_null"] = True
    if display.optional or display.parts is not None:
        options["required"] = False
    if display.help:
        options["help_text"] = display.help
    if display.bounds:
        options["min_value"], options["max_value"] = display.bounds
    if display.choices:
        return serializers.ChoiceField(display.choices, **options)
    return _of_type(kind, options)


def _of_type(kind: Any, options: dict[str, Any]) -> Any:
    kind = getattr(kind, "__supertype__", kind)  # NewType
    origin, inside = get_origin(kind) or kind, get_args(kind)
    if is_dataclass(kind):
        return serializer_for(kind)(**options)  # type: ignore[arg-type]  # a class, as it is used
    if origin is Literal:
        return serializers.ChoiceField(inside, **options)
    if origin in (tuple, list):
        if is_dataclass(inside[0]):
            return serializer_for(inside[0])(many=True, **options)  # type: ignore[arg-type]
        return serializers.ListField(child=_of_type(inside[0], {}), **options)
    if origin is dict:
        values = inside[1] if inside else Any
        child = {} if values is Any else {"child": _of_type(values, {})}
        return serializers.DictField(**child, **options)
    return _PLAIN[kind](**options)
