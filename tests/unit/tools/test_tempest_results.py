"""Results of Tempest: what an interrupted run leaves to the next one."""

from pathlib import Path

import pytest

from tests.support.tempest import Result, Results

ONE, TWO = "tempest.api.image.Images.test_one[id-1]", "tempest.api.image.Images.test_two[id-2]"
OTHER = "tempest.api.image.Members.test_one[id-3]"


def a_result(test: str, result: str = "passed") -> Result:
    return Result(test=test, result=result, seconds=1.5, text="")  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "image.jsonl"


def test_an_interrupted_run_continues_with_the_tests_that_have_no_result(file: Path) -> None:
    first = Results(file)
    first.add(a_result(ONE))
    with file.open("a") as written:
        written.write('{"test": "tempest.api.im')
    assert Results(file).missing([ONE, TWO, OTHER]) == [TWO, OTHER]


def test_a_result_after_an_interruption_is_read(file: Path) -> None:
    file.write_text('{"test": "tempest.api.im')
    Results(file).add(a_result(ONE))
    assert Results(file).missing([ONE, TWO]) == [TWO]


def test_a_class_that_is_skipped_or_fails_as_a_whole_is_not_missing() -> None:
    found = Results()
    found.add(a_result("setUpClass (tempest.api.image.Images)", "skipped"))
    assert found.missing([ONE, TWO, OTHER]) == [OTHER]


def test_a_test_whose_worker_died_is_run_again(file: Path) -> None:
    Results(file).add(a_result(ONE, "lost"))
    assert Results(file).missing([ONE]) == [ONE]


def test_failures_are_kept_and_named(file: Path) -> None:
    Results(file).add(a_result(ONE, "failed"))
    found = Results(file)
    assert list(found.failed()) == [ONE]
    assert found.missing([ONE]) == []
    assert found.counts() == "0 passed, 1 failed, 0 skipped (0 min of tests)"
