"""The address of a bucket, and the credentials for it: from the environment, or from the usual files."""

from __future__ import annotations

from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from pathlib import Path

from msgspec import Struct

from mulligan import errors
from mulligan.config.bucket_address import parts_of_store

_DEFAULT_REGION = "us-east-1"  # what servers other than Amazon's expect


class StoreAddress(Struct, frozen=True, kw_only=True):
    """A bucket, the prefix of the project in it, and how to reach it."""

    bucket: str
    prefix: str  # "" for the whole bucket
    endpoint: str | None  # None: Amazon's own
    region: str
    options: Mapping[str, str]  # for the client; holds secrets, so that it is never shown

    @property
    def shown(self) -> str:
        """The address for people."""
        where = f" at {self.endpoint}" if self.endpoint else ""
        return f"s3://{self.bucket}{'/' if self.prefix else ''}{self.prefix}{where}"


def store_address(url: str, *, endpoint: str | None, environ: Mapping[str, str], user: Path) -> StoreAddress:
    """Read an address that the settings accepted; `user` is the user's own folder, with `.aws` in it.

    Credentials that nobody gave are left to the client, which asks the machine that it runs on.
    """
    bucket, prefix = parts_of_store(url)
    known = _profile(environ, user)
    named = (
        endpoint or _first(environ, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") or known.get("endpoint_url")
    )
    region = _first(environ, "AWS_REGION", "AWS_DEFAULT_REGION") or known.get("region") or _DEFAULT_REGION
    options: dict[str, str] = {}
    if key := environ.get("AWS_ACCESS_KEY_ID"):
        options = {"access_key_id": key, "secret_access_key": environ.get("AWS_SECRET_ACCESS_KEY", "")}
        if token := environ.get("AWS_SESSION_TOKEN"):
            options["session_token"] = token
    elif "aws_access_key_id" in known:
        options = {
            "access_key_id": known["aws_access_key_id"],
            "secret_access_key": known.get("aws_secret_access_key", ""),
        }
        if "aws_session_token" in known:
            options["session_token"] = known["aws_session_token"]
    return StoreAddress(bucket=bucket, prefix=prefix, endpoint=named, region=region, options=options)


def _first(environ: Mapping[str, str], *names: str) -> str | None:
    return next(filter(None, map(environ.get, names)), None)


def _profile(environ: Mapping[str, str], user: Path) -> dict[str, str]:
    """Return what the user's files say for the profile that is used."""
    profile = environ.get("AWS_PROFILE") or environ.get("AWS_DEFAULT_PROFILE") or "default"
    files = {
        environ.get("AWS_CONFIG_FILE") or str(user / ".aws" / "config"): ("default", f"profile {profile}"),
        environ.get("AWS_SHARED_CREDENTIALS_FILE") or str(user / ".aws" / "credentials"): (profile, profile),
    }
    found: dict[str, str] = {}
    for path, (usual, section) in files.items():
        parser = ConfigParser(interpolation=None, default_section="none of these")
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, UnicodeError, ConfigError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else "it cannot be read"
            raise errors.SystemFailed(path=path, reason=reason) from None  # its text holds secrets
        name = usual if profile == "default" else section
        if parser.has_section(name):
            found.update(parser.items(name))
    return found
