"""Serializers: strict ones of requests, and those of answers, made of their dataclasses."""

from dataclasses import is_dataclass
from datetime import date, datetime
from functools import cache, lru_cache
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from django.core.validators import ProhibitNullCharactersValidator
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from acl.platform.answer_model import Field, fields_of, without_none
from acl.platform.strict_json import hint_at_names

_UNSTORABLE = (ProhibitNullCharactersValidator, ProhibitSurrogateCharactersValidator)

# Strict serializer fields: unknown fields are refused, and each field takes only its own type.


class Text(serializers.CharField):
    """A string; numbers are not taken for one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Whatever reaches a serializer has passed the parser or `PlainTextMiddleware`, and looking
        # at each character again takes longer than all other checks of a message.
        self.validators = [check for check in self.validators if not isinstance(check, _UNSTORABLE)]

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class Number(serializers.IntegerField):
    """A whole number; "5" and true are not taken for one."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int and not (isinstance(data, float) and data.is_integer()):
            self.fail("invalid")
        return int(super().to_internal_value(int(data)))


class Share(serializers.FloatField):
    """A number from 0 to 1; "1" and true are not taken for one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=1, **options)

    def to_internal_value(self, data: Any) -> float:
        if type(data) not in {int, float}:
            self.fail("invalid")
        return float(super().to_internal_value(data))


class Flag(serializers.BooleanField):
    """true or false; "yes" and 1 are not taken for one."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class StrictSerializer(serializers.Serializer[Any]):
    """Names each field that it does not know: a typing error must not silently mean the default."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(str(name) for name in data if name not in self.fields)
            if unknown:
                names = [name for name, field in self.fields.items() if not field.read_only]
                raise serializers.ValidationError(
                    {name: [f"Unknown field{hint_at_names(name, names)}"] for name in unknown[:20]}
                )
        return super().to_internal_value(data)


def validated(body: type[serializers.Serializer[Any]], data: Any) -> Any:
    """Return the validated body; raise as `is_valid` does.

    Its fields are made once: copying them for each request takes longer than all its checks. They
    keep nothing of what they check, so requests share them.
    """
    try:
        return _shared(body).run_validation(data)
    except serializers.ValidationError:
        serializer = body(data=data)  # which has the errors in their usual form
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data


@cache
def _shared(body: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    return body()


class ProblemErrorSerializer(serializers.Serializer[Any]):
    """An invalid field with its reason."""

    field = serializers.CharField(help_text="The field's name; nested ones by path: `history.0`.")
    reason = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """Body of every 4xx and 5xx response (RFC 9457)."""

    type = serializers.CharField(help_text="Code of the problem, for programs.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="Description of the problem, for people.")
    field = serializers.CharField(required=False, help_text="The first invalid field.")
    # No attribute of the class in the end: the metaclass collects the fields.
    errors = ProblemErrorSerializer(many=True, required=False)  # type: ignore[assignment]
    request_id = serializers.CharField(
        help_text="The request's id, as in the logs and in `X-Request-ID`."
    )


# Serializers of answers, made of the dataclasses that they answer (`answer_model`).

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
