from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from service.persistence.identifiers import canonical_id, new_id


def test_ids_sort_in_the_order_they_were_made() -> None:
    ids = [new_id() for _ in range(1000)]
    moments = [UUID(made).int >> 64 for made in ids]  # 48 bits of milliseconds, version, 12 bits of their fraction
    assert moments == sorted(moments)
    assert len(set(ids)) == 1000


def test_an_id_is_a_version_7_uuid_of_now() -> None:
    made = UUID(new_id())
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    moment = datetime.fromtimestamp((made.int >> 80) / 1000, UTC)
    assert abs(moment - datetime.now(UTC)) < timedelta(minutes=1)


def test_other_spellings_are_one_id_and_other_text_is_none() -> None:
    made = str(uuid4())
    assert canonical_id(made.upper()) == made
    for text in ("", made[:-1], made.replace("-", ""), f"{{{made}}}", f"urn:uuid:{made}", "g" * 36, "\x00" * 36):
        assert canonical_id(text) is None
