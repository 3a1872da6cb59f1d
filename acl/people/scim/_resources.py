"""Resources of SCIM: the parts of User and Group of RFC 7643 that Pegboard has."""

from typing import Annotated, Any, ClassVar

from pydantic import Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ResourceType,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

MOST_RESULTS = 200


class Name(ComplexAttribute):
    """Given and family name."""

    family_name: str | None = None
    given_name: str | None = None


class Email(ComplexAttribute):
    """The one address of a person. It counts as confirmed."""

    value: Annotated[str | None, Required.true] = None
    primary: bool | None = None


class UserGroup(ComplexAttribute):
    """A group of a person; memberships change at the group."""

    value: Annotated[str | None, Mutability.read_only] = None
    display: Annotated[str | None, Mutability.read_only] = None


class User(Resource[Any]):
    """A person. Service accounts are none."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    name: Name | None = None
    display_name: Annotated[str | None, Mutability.read_only] = None
    active: bool | None = None
    preferred_language: str | None = None
    emails: list[Email] | None = None
    groups: Annotated[list[UserGroup] | None, Mutability.read_only] = None

    Name: ClassVar[type[ComplexAttribute]] = Name
    Emails: ClassVar[type[ComplexAttribute]] = Email
    Groups: ClassVar[type[ComplexAttribute]] = UserGroup


class GroupMember(ComplexAttribute):
    """A person in a group."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[Reference[User] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )


class Group(Resource[Any]):
    """A group. New ones allow nothing until something is granted to them."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    members: list[GroupMember] | None = None

    Members: ClassVar[type[ComplexAttribute]] = GroupMember


CONFIGURATION = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
    filter=Filter(supported=True, max_results=MOST_RESULTS),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=True),
    etag=ETag(supported=True),
    authentication_schemes=[
        AuthenticationScheme(
            type=AuthenticationScheme.Type.oauthbearertoken,
            name="API key",
            description="A key of an admin with the scope scim, as a bearer token.",
            primary=True,
        )
    ],
)
# Providers send attributes that we do not have, and remove members by value.
PROVIDER = ScimProvider(
    models=[User, Group],
    resource_types=[
        ResourceType.from_resource(User).model_copy(update={"endpoint": "/Users"}),
        ResourceType.from_resource(Group).model_copy(update={"endpoint": "/Groups"}),
    ],
    config=CONFIGURATION,
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
