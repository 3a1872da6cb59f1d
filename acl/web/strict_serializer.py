"""Strict serializer fields: unknown fields are refused, and each field takes only its own type."""

from functools import cache
from typing import Any

from rest_framework import serializers


class Text(serializers.CharField):
    """A string; numbers are not taken for one."""

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
                raise serializers.ValidationError(
                    {name: ["Unknown field."] for name in unknown[:20]}
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
