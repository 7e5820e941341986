"""No file that is published names a place that its reader does not have."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.architecture.sources import ROOT

# Patterns, so written that they do not find themselves.
NOWHERE = {
    "a folder of one machine": r"(?<![\w.~-])/(?:work|home|root|Users|workspace)/\w",
    "the host of a package index": r"\bpypi[.]org|pythonhosted[.]org|registry[.]npmjs[.]org|deb[.]debian[.]org",
    "an id that only a private index resolves": r"(?i)\bcode[- ]index\b|\bfile id \d|\bby the[ ]index\b",
    "a document that is not public": r"(?i)\binternal use[ ]only\b",
}


def published() -> list[str]:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout: git says what is published")
def test_published_files_name_no_place_that_readers_lack() -> None:
    files = published()
    assert len(files) > 100
    found = []
    for name in files:
        content = (ROOT / name).read_bytes()
        if b"\0" in content:
            continue
        text = content.decode("utf-8")
        for what, pattern in NOWHERE.items():
            lines = sorted({text.count("\n", 0, match.start()) + 1 for match in re.finditer(pattern, text)})
            if lines:
                found.append(f"{name}:{lines[0]} and {len(lines) - 1} more lines: {what}")
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("see " + "/".join(("", "home", "ann", "x.csv")), True),
        ("https://example.com/home/ann", False),
        ("--index-url https://" + ".".join(("pypi", "org")), True),
        ("https://www.apache.org/licenses/", False),
        ("/var/lib/stepcast", False),
    ],
)
def test_the_patterns_bite(text: str, is_found: bool) -> None:
    assert any(re.search(pattern, text) for pattern in NOWHERE.values()) is is_found
