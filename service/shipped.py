"""Where the files that come with the service are: inside an installed wheel, or at the root of a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
FOLDERS = ("hardware_catalog", "model_catalog", "migrations", "validation")


def shipped_path(name: str) -> Path:
    """Return a folder that is shipped with the service.

    Parameters
    ----------
    name : str
        hardware_catalog, model_catalog, migrations or validation.

    Raises
    ------
    FileNotFoundError
        If neither the installed package nor the checkout has it.
    """
    if name not in FOLDERS:
        raise FileNotFoundError(f"{name} is not shipped; shipped are {', '.join(FOLDERS)}")
    for folder in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name} is neither in the installed package nor beside it: the installation is incomplete")
