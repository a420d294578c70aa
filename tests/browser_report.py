"""Say from pytest's JUnit report whether the browser tests ran: python -m tests.browser_report REPORT.

Exits with 1 when none ran or one was skipped, so that CI cannot pass without a browser.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def browser_tests(report: str) -> tuple[int, list[str]]:
    """Return how many browser tests ran and the names of those that were skipped.

    tests/browser/conftest.py gives each test that opens a page the property "browser". A module that was
    skipped as a whole stands in the report as one case without a class or properties.

    >>> browser_tests('<testsuite><testcase classname="a" name="b"><properties>'
    ...               '<property name="browser" value="yes"/></properties></testcase></testsuite>')
    (1, [])
    """
    ran, skipped = 0, []
    for case in ET.fromstring(report).iter("testcase"):
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        module = not case.get("classname") and name.startswith("tests.browser.")
        if not module and case.find("properties/property[@name='browser']") is None:
            continue
        if any(skip.get("type") != "pytest.xfail" for skip in case.iter("skipped")):
            skipped.append(name)
        else:
            ran += 1
    return ran, skipped


def main(path: str) -> int:
    """Print the verdict on a report and return the exit code."""
    ran, skipped = browser_tests(Path(path).read_text(encoding="utf-8"))
    print(f"browser tests: {ran} ran, {len(skipped)} were skipped")
    for name in skipped:
        print(f"  skipped: {name}")
    return 0 if ran and not skipped else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
