"""The address of an object store, as a setting names it: `s3://bucket/prefix`."""

import re

from mulligan.config.values import Unfit, ValueType

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9!_.'()-]+(?:/[A-Za-z0-9!_.'()-]+)*")
_SCHEME = "s3://"


def parts_of_store(url: str) -> tuple[str, str]:
    """Return the bucket of an address, and the prefix in it without slashes around it."""
    bucket, _, prefix = url.removeprefix(_SCHEME).partition("/")
    return bucket, prefix.strip("/")


def store_url() -> ValueType:
    """The address of a bucket, with a prefix. Messages do not repeat it: it may hold what is secret by mistake."""

    def check(value: object) -> str:
        if not isinstance(value, str) or not value.startswith(_SCHEME):
            raise Unfit("is not the address of a bucket")
        bucket, prefix = parts_of_store(value)
        if not _BUCKET.fullmatch(bucket):
            raise Unfit("names no bucket; keys and passwords do not belong into it")
        if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/"))):
            raise Unfit("has a prefix that not every store can hold")
        return _SCHEME + bucket + (f"/{prefix}" if prefix else "")

    return ValueType(allowed="s3://BUCKET or s3://BUCKET/PREFIX", check=check)


def endpoint_url() -> ValueType:
    """The address of a server that speaks S3."""

    def check(value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(r"https?://[A-Za-z0-9.\[\]:-]+/?", value):
            raise Unfit("is not the address of a server")
        return value.rstrip("/")

    return ValueType(allowed="http://HOST:PORT or https://HOST:PORT", check=check)
