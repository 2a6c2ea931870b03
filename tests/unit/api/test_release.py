import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.api import release
from cobaltcore.api.release import Release

releases = st.builds(Release, st.integers(2020, 2090), st.sampled_from([1, 2]))


def test_releases_sort_by_age() -> None:
    names = ["2026.1", "2025.2", "2024.1", "2025.1"]
    assert sorted(map(release.parse, names)) == [
        Release(2024, 1), Release(2025, 1), Release(2025, 2), Release(2026, 1),
    ]  # fmt: skip


@given(releases)
def test_name_is_read_back(each: Release) -> None:
    assert release.parse(str(each)) == each


@given(releases)
def test_next_release_is_the_smallest_newer_one(each: Release) -> None:
    assert each < each.next
    assert each.next.next.year == each.year + 1
    assert each.next.next.number == each.number


@given(releases, releases)
def test_release_may_follow_only_an_equal_or_older_one(new: Release, old: Release) -> None:
    if new.may_follow(old):
        assert old <= new <= old.next.next


@given(releases)
def test_every_release_may_follow_itself_and_its_predecessor(each: Release) -> None:
    assert each.may_follow(each)
    assert each.next.may_follow(each)
    assert not each.may_follow(each.next)


@given(releases)
def test_only_the_first_release_of_a_year_may_skip_one(each: Release) -> None:
    assert each.next.next.may_follow(each) == (each.number == 1)


@pytest.mark.parametrize(
    "text", ["2025", "2025.3", "2025.0", "25.2", "2025.2.1", " 2025.2", "zed", ""]
)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an OpenStack release"):
        release.parse(text)
