"""Where a store lies: one folder, on this machine or in an object store, and the few file operations it needs."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from urllib.parse import unquote, urlparse

from pyarrow import fs

from whence.errors import StoreError


@dataclass(frozen=True)
class Location:
    """A folder. `uri` is what Spark and delta-rs are given, `path` what Arrow's file system is given."""

    uri: str
    path: str

    @property
    def files(self) -> fs.FileSystem:
        """The file system of the folder."""
        if self.is_local:
            return fs.LocalFileSystem()
        return fs.FileSystem.from_uri(self.uri)[0]

    @property
    def is_local(self) -> bool:
        """Whether it lies in the file system of this machine."""
        return self.uri.startswith("file:")

    def at(self, *parts: str) -> Location:
        """A folder or file below."""
        below = "/".join(parts)
        return Location(f"{self.uri}/{below}", f"{self.path}/{below}")

    @property
    def table_uri(self) -> str:
        """The folder as delta-rs takes it."""
        return self.path if self.is_local else self.uri

    def exists(self) -> bool:
        """Whether there is a file or folder."""
        return bool(self.files.get_file_info(self.path).type != fs.FileType.NotFound)

    def is_file(self) -> bool:
        """Whether it is a file and no folder."""
        return bool(self.files.get_file_info(self.path).type == fs.FileType.File)

    def names(self) -> list[str]:
        """The names of what lies in the folder."""
        found = self.files.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def read(self) -> bytes:
        """The bytes of a small file."""
        with self.files.open_input_stream(self.path) as stream:
            return bytes(stream.read())

    def write(self, data: bytes) -> None:
        """Write a small file, whole or not at all, where the file system can rename."""
        files = self.files
        files.create_dir(self.path.rsplit("/", 1)[0], recursive=True)
        part = f"{self.path}.{uuid.uuid4().hex[:8]}.part"
        with files.open_output_stream(part if self.is_local else self.path) as stream:
            stream.write(data)
        if self.is_local:
            files.move(part, self.path)

    def remove(self) -> None:
        """Remove a file or a folder with all that it holds; nothing happens where there is none."""
        kind = self.files.get_file_info(self.path).type
        if kind == fs.FileType.Directory:
            self.files.delete_dir(self.path)
        elif kind == fs.FileType.File:
            self.files.delete_file(self.path)


def locate(folder: str | os.PathLike[str]) -> Location:
    """The location of a path or URI, absolute. As in Spark, a percent sign in it means itself.

    >>> locate("lineage/").uri
    'file:///home/me/lineage'
    """
    text = os.fspath(folder)
    scheme = urlparse(text).scheme
    if scheme in ("", "file"):
        path = os.path.abspath("/" + text.removeprefix("file:").lstrip("/") if scheme else text)
        return Location(f"file://{path}", path)
    try:
        path = fs.FileSystem.from_uri(text)[1]
    except (ValueError, OSError, NotImplementedError) as error:
        raise StoreError(f'"{text}" is not a folder that can be reached', str(error)) from error
    return Location(text.rstrip("/"), path.rstrip("/"))


def local_path(uri: str) -> str:
    """The path of a `file:` URI as Spark writes it, percent signs decoded; other URIs stay as they are.

    >>> local_path("file:///data/in%20put/a.parquet")
    '/data/in put/a.parquet'
    """
    return unquote(urlparse(uri).path) if uri.startswith("file:") else uri
