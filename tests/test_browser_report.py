"""The proof that browser tests ran can fail."""

from pathlib import Path

import pytest

from tests.browser_report import browser_tests, main

BROWSER = '<properties><property name="browser" value="yes"/></properties>'
SKIP = '<skipped type="pytest.skip"/>'
RAN = f'<testcase classname="tests.browser.test_a" name="test_b">{BROWSER}</testcase>'
SKIPPED = f'<testcase classname="tests.browser.test_a" name="test_c">{BROWSER}{SKIP}</testcase>'
MODULE = f'<testcase classname="" name="tests.browser.test_d">{SKIP}</testcase>'
EXPECTED = f'<testcase classname="x" name="test_e">{BROWSER}<skipped type="pytest.xfail"/></testcase>'
OTHER = f'<testcase classname="tests.core.test_a" name="test_f">{SKIP}</testcase>'
QUIET = '<testcase classname="tests.browser.test_a" name="test_without_a_page"/>'


def report(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        ((RAN,), 0),
        ((RAN, OTHER, EXPECTED), 0),
        ((), 1),
        ((OTHER, QUIET), 1),
        ((RAN, SKIPPED), 1),
        ((RAN, MODULE), 1),
    ],
)
def test_exit_code(cases: tuple[str, ...], code: int, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text(report(*cases), encoding="utf-8")
    assert main(str(path)) == code


def test_a_module_skipped_as_a_whole_is_named() -> None:
    assert browser_tests(report(RAN, MODULE)) == (1, ["tests.browser.test_d"])
