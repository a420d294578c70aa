"""Puts the app into the wheel: app.py, pages/ and .streamlit/config.toml, as attnviz/_app/, where attnviz/cli.py looks.

All else about the package stands in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
APP = ("app.py", *sorted(f"pages/{page.name}" for page in (HERE / "pages").glob("*.py")), ".streamlit/config.toml")


class BuildWithApp(build_py):
    """The usual build of the package, and the app beside its modules; an editable install finds it in the checkout."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        if self.editable_mode:
            return
        packed = Path(self.build_lib) / "attnviz" / "_app"
        shutil.rmtree(packed, ignore_errors=True)
        for name in APP:
            (packed / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / name, packed / name)


setup(cmdclass={"build_py": BuildWithApp})
