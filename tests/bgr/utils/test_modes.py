"""Permissions of written files follow the umask."""

import os

import pytest

from bgr.utils.atomic_io import new_file, output_folder


@pytest.mark.parametrize(("mask", "file_mode", "folder_mode"), [(0o022, 0o644, 0o755), (0o027, 0o640, 0o750)])
def test_files_and_folders_have_the_mode_of_the_umask(mask, file_mode, folder_mode, tmp_path):
    before = os.umask(mask)
    try:
        with new_file(tmp_path / "file") as half:
            half.touch()
        with output_folder(tmp_path / "folder") as work:
            (work / "part").mkdir()
            os.close(os.open(work / "part" / "weights", os.O_CREAT | os.O_WRONLY, 0o600))
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == file_mode
    assert (tmp_path / "folder").stat().st_mode & 0o777 == folder_mode
    assert (tmp_path / "folder/part/weights").stat().st_mode & 0o777 == file_mode
