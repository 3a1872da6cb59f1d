"""Storage, SQL, the index and the ranking read one table of relation kinds."""

import pytest
from django.db import IntegrityError, transaction

from catalog.models import Edge
from catalog.models.relation_kinds import RELATION_KINDS, Kind, weight_of_shared
from catalog.relations.relations import relate
from discovery.select.ranking.relation_gains import RankedRelation, pull_in
from tests.factories import CapabilityFactory


def test_every_kind_has_its_row() -> None:
    assert set(RELATION_KINDS) == set(Kind)
    assert all(0 < row.weight <= row.most <= 1 for row in RELATION_KINDS.values())


@pytest.mark.django_db
@pytest.mark.parametrize("kind", Kind)
def test_kind_without_direction_is_stored_from_its_lower_key(kind: Kind) -> None:
    lower, higher = CapabilityFactory.create(), CapabilityFactory.create()

    relate(by=None, source=higher, target=lower, kind=kind, weight=0.5)

    edge = Edge.objects.get()
    ends = (edge.source_id, edge.target_id)
    directed = RELATION_KINDS[kind].directed
    assert ends == ((higher.pk, lower.pk) if directed else (lower.pk, higher.pk))
    with transaction.atomic():
        turned = Edge(source=higher, target=lower, kind=kind, weight=0.1, origin="metadata")
        if directed:
            turned.save()
        else:
            with pytest.raises(IntegrityError):
                turned.save()


@pytest.mark.parametrize("kind", Kind)
def test_results_pull_in_the_partners_that_the_table_says(kind: Kind) -> None:
    link = RankedRelation(1, 2, kind, 1.0)

    forth = pull_in({1: 0.9}, {2}, [link], boost=0.5)
    back = pull_in({2: 0.9}, {1}, [link], boost=0.5)

    pulls = RELATION_KINDS[kind].pulls_in
    assert (bool(forth), bool(back)) == (pulls in ("target", "both"), pulls == "both")


def test_shared_tags_weigh_up_to_a_bound() -> None:
    weights = [weight_of_shared(Kind.TAGGED_WITH, count) for count in range(1, 9)]

    assert weights == sorted(weights)
    assert weights[-1] == RELATION_KINDS[Kind.TAGGED_WITH].most
