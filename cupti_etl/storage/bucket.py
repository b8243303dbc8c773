"""Traces that are not on this machine: ``s3://bucket/run42``, also gs, abfs and file.

The file systems are those of pyarrow; credentials come from where each cloud's own tools find them.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import TraceError, UsageError, why

if TYPE_CHECKING:
    import duckdb
    from pyarrow import fs

SCHEMES = ("s3", "gs", "abfs")
FILE = "file:"
_URL = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.DOTALL)
# How long a connection may say nothing.
_PATIENCE_S = 30.0
# Where the tools of Amazon take the address of another service that speaks S3.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
# A file beside the parts that says whose they are, and shows that one can write there.
ORIGIN = "host.txt"
CHECK = "check the name, and the credentials that the cloud's own tools use"


class Url(type(Path())):  # type: ignore[misc]
    """A place in a bucket, as a path: what is asked of it is answered from a listing.

    The listing is that of the time when the trace was opened (``look``).
    """

    def __str__(self) -> str:
        parts = self.parts
        if parts and parts[0].endswith(":"):
            return f"{parts[0]}//{self.key}"
        return "/".join(parts) or "."  # below another

    def __fspath__(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Url({str(self)!r})"

    @property
    def key(self) -> str:
        """Bucket and path, as pyarrow's file systems name it."""
        return ("/" if self.parts[0] == FILE else "") + "/".join(self.parts[1:])

    def absolute(self) -> Url:
        """The same."""
        return self

    def resolve(self, strict: bool = False) -> Url:
        """The same: a bucket has no links."""
        return self

    def is_symlink(self) -> bool:
        """False."""
        return False

    @property
    def path(self) -> Url:
        """The same, as of an entry of ``os.scandir``."""
        return self

    def exists(self, **_: Any) -> bool:
        """Whether there is a file of that name, or one below it."""
        return self.is_file() or self.is_dir()

    def is_file(self, **_: Any) -> bool:
        """Whether there is a file of that name."""
        return _listed(self.parent).get(self.name) is not None

    def is_dir(self, **_: Any) -> bool:
        """Whether there is a file below it."""
        return bool(_listed(self))

    def stat(self, **_: Any) -> os.stat_result:
        """Size and time of a file.

        Raises:
            FileNotFoundError: there is none.
        """
        found = _listed(self.parent).get(self.name)
        if found is None:
            raise FileNotFoundError(str(self))
        size, at_ns = found
        return os.stat_result((stat.S_IFREG, 0, 0, 1, 0, 0, size, *[at_ns // 10**9] * 3))

    def iterdir(self) -> Iterator[Url]:
        """What is in it."""
        return (self / name for name in _listed(self))

    def glob(self, pattern: str, **_: Any) -> Iterator[Url]:
        """What matches a pattern, folder by folder."""
        first, _slash, rest = pattern.partition("/")
        for each in self.iterdir():
            if fnmatch.fnmatchcase(each.name, first):
                yield from each.glob(rest) if rest else (each,)

    def read_bytes(self) -> bytes:
        """The content of a file.

        Raises:
            OSError: it cannot be read.
        """
        with file_system(self.parts[0]).open_input_file(self.key) as file:
            return bytes(file.read())


# By place that was looked at: each folder with the names of what is in it, and sizes and times in
# ns of those that are files.
_Names = dict[str, tuple[int, int] | None]
_LISTINGS: dict[str, dict[str, _Names]] = {}


def look(url: Url) -> None:
    """List what is there now.

    Raises:
        TraceError: that is not possible; the message says why.
    """
    from pyarrow import fs

    where = file_system(url.parts[0])
    try:
        found = where.get_file_info(fs.FileSelector(url.key, recursive=True, allow_not_found=True))
        if not found:
            # Of a bucket that is not there, too, there is nothing to list.
            where.get_file_info(fs.FileSelector(url.parts[1]))
    except OSError as error:
        raise TraceError(f"{url} cannot be read: {reason(error)}", CHECK) from error
    folders: dict[str, _Names] = {}
    for each in found:
        if each.is_file:
            path = Url(f"{url.parts[0]}//{each.path}")
            folders.setdefault(str(path.parent), {})[path.name] = (each.size, each.mtime_ns or 0)
            while len(path.parent.parts) > len(url.parts):
                path = path.parent
                folders.setdefault(str(path.parent), {}).setdefault(path.name, None)
    _LISTINGS[str(url)] = folders


def _listed(url: Url) -> _Names:
    for place in (url, *url.parents):
        if place.parts and str(place) in _LISTINGS:
            return _LISTINGS[str(place)].get(str(url), {})
    look(url)
    return _LISTINGS[str(url)].get(str(url), {})


def as_path(text: str | os.PathLike[str]) -> Path:
    """The path that is meant by one, or by a URL.

    Raises:
        UsageError: no such file system is known, no bucket is named, or credentials are.
    """
    if isinstance(text, Path):
        return text
    found = _URL.fullmatch(os.fspath(text))
    if found is None:
        return Path(text)
    scheme, rest = found.groups()
    before = rest.partition("/")[0].rpartition("@")[0]
    if before:
        raise UsageError(
            f"a {scheme}:// URL with a user or a password in it is not taken: it would be seen",
            "abfs://CONTAINER/run42, and AZURE_STORAGE_ACCOUNT names the account"
            if scheme == "abfs"
            else "leave it out; credentials are found where the cloud's own tools find them",
        )
    if scheme == "file":
        return Path(rest).absolute()
    if scheme not in SCHEMES:
        raise UsageError(
            f"{text} is of a kind that is not known",
            f"use {', '.join(f'{each}://' for each in SCHEMES)}, file:// or a path",
        )
    if not rest.strip("/"):
        raise UsageError(f"{text} names no bucket", f"for instance {scheme}://bucket/run42")
    return Url(f"{scheme}://{rest.strip('/')}")


@functools.cache
def file_system(scheme: str) -> fs.FileSystem:
    """The file system of a scheme, such as ``s3:``.

    Raises:
        UsageError: pyarrow was built without it.
    """
    from pyarrow import fs

    name = scheme.rstrip(":")
    if scheme == FILE:
        return fs.LocalFileSystem()
    if name == "s3":
        endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
        region = next(filter(None, map(os.environ.get, _REGIONS)), None)
        # Away from Amazon the region is a word; there, it is that of the bucket or of its settings.
        return fs.S3FileSystem(
            endpoint_override=endpoint,
            region=region or ("us-east-1" if endpoint else None),
            connect_timeout=_PATIENCE_S,
            request_timeout=_PATIENCE_S,
            background_writes=False,
        )
    try:
        return _google(fs) if name == "gs" else _azure(fs)
    except (NotImplementedError, ImportError, AttributeError) as error:
        raise UsageError(
            f"this pyarrow cannot read {name}://: {error}", "install another build of pyarrow"
        ) from None


def _google(fs: Any) -> fs.FileSystem:
    # Google's library takes the address of an emulator from the environment, and no credentials.
    return fs.GcsFileSystem(
        anonymous=bool(os.environ.get("CLOUD_STORAGE_EMULATOR_ENDPOINT")),
        retry_time_limit=timedelta(seconds=_PATIENCE_S),
    )


def _azure(fs: Any) -> fs.FileSystem:
    # The variables are those of Azure's command line; without a key, its other ways are tried.
    get = os.environ.get
    account = get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise UsageError(
            "abfs:// names a container, and not the account", "set AZURE_STORAGE_ACCOUNT"
        )
    scheme, _, authority = (get("AZURE_STORAGE_SERVICE_ENDPOINT") or "").rpartition("://")
    where = (authority.rstrip("/") or None, scheme or None)
    return fs.AzureFileSystem(
        account,
        account_key=get("AZURE_STORAGE_KEY"),
        sas_token=get("AZURE_STORAGE_SAS_TOKEN"),
        blob_storage_authority=where[0],
        blob_storage_scheme=where[1],
        dfs_storage_authority=where[0],
        dfs_storage_scheme=where[1],
    )


def reason(error: BaseException) -> str:
    """Why something failed, as far as a service says so in one line."""
    text = why(error)
    said = re.search(
        r"(?:Message: |operation: )(?!Unable to parse)(.*?)(?: \(Request ID|;|$)", text
    )
    name = re.search(r"AWS Error (\w+)", text)
    if name and said and said[1].strip() not in ("", "No response body."):
        return f"{said[1].strip().rstrip('.')} ({name[1]})"
    return text


def register(con: duckdb.DuckDBPyConnection, scheme: str) -> None:
    """Let DuckDB read what is in buckets, by pyarrow: only the bytes that it asks for.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from cupti_etl.storage.bucket_reader import Reader
    except ImportError:
        raise UsageError(
            "to ask a trace in a bucket, fsspec is needed", "pip install 'cupti-etl[bucket]'"
        ) from None
    con.register_filesystem(type("Bucket", (Reader,), {"protocol": scheme})(file_system(scheme)))


def as_target(text: str) -> Path:
    """The path that ``-o`` names: of one host's trace, or a Url if many write into it.

    Raises:
        UsageError: no such file system is known, or no bucket is named.
    """
    path = as_path(text)
    if text.startswith(f"{FILE}//"):
        return Url(f"{FILE}//{path}")
    return path


def put(url: Url, content: bytes) -> None:
    """Write a file, which is seen under its name when it is complete.

    Raises:
        OSError: that is not possible.
    """
    where = file_system(url.parts[0])
    if url.parts[0] != FILE:
        # In one piece: what is cut off on its way never gets the name.
        with where.open_output_stream(url.key) as file:
            file.write(content)
        return
    Path(url.key).parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(url.key).with_name(f".{url.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(url.key)


def readable(path: Path) -> Any:
    """What pyarrow reads a file from.

    Raises:
        OSError: it cannot be read.
    """
    if isinstance(path, Url):
        return file_system(path.parts[0]).open_input_file(path.key)
    return path


def real_path(path: Path) -> Path:
    """The path without links; ``resolve()`` cannot do that for those in a circle."""
    return path if isinstance(path, Url) else Path(os.path.realpath(path))
