"""Servers that fail, or break their promises: retried, refused by name, and nothing of it is taken for success."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan import errors
from mulligan.adapters.object_packs.bucket import Bucket
from mulligan.adapters.object_packs.store_address import StoreAddress, store_address
from mulligan.adapters.object_packs.store_probe import claim_bucket, probe
from tests.support.s3_server import Failure, SmallStore
from tests.support.shared_store import Machine, SharedStore
from tests.support.stored_packs import content, put

Open = Callable[..., Machine]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon on a server that does not answer."""
    monkeypatch.setattr("mulligan.adapters.object_packs.bucket._PATIENCE", timedelta(seconds=2))
    monkeypatch.setattr("mulligan.adapters.object_packs.bucket._TRIES", 3)


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("after", [False, True])
def test_an_upload_that_fails_once_is_repeated_and_may_meet_itself(
    machine: Open, server: SmallStore, status: int, after: bool
) -> None:
    server.failures.append(Failure(status=status, method="PUT", part="/packs/", times=2, after=after))
    put(machine().packs, "a.pack", b"bytes")
    assert server.failed == 2
    assert content(machine().packs, "a.pack") == b"bytes"


def test_a_read_that_is_cut_off_is_repeated(machine: Open, server: SmallStore) -> None:
    put(machine().packs, "a.pack", b"bytes")
    server.failures.append(Failure(status=0, method="GET", part="/packs/", times=2))
    assert content(machine().packs, "a.pack") == b"bytes"
    assert server.failed == 2


def test_an_upload_whose_answer_is_cut_off_is_there_or_not(machine: Open, server: SmallStore) -> None:
    """The client does not repeat what may have been done; the caller is told, and its next try is another pack."""
    one = machine()
    server.failures.append(Failure(status=0, method="PUT", part="/packs/", times=1, after=True))
    try:
        put(one.packs, "a.pack", b"bytes")
    except errors.StoreUnreachable:
        assert set(one.packs.list()) == set()
    else:
        assert content(machine().packs, "a.pack") == b"bytes"
    assert server.failed == 1


def test_another_object_under_the_name_of_a_pack_is_not_taken_for_it(
    machine: Open, shared: SharedStore, server: SmallStore
) -> None:
    one = machine()
    server.objects[f"{shared.address().prefix}/packs/a.pack"] = (b"other", 0.0)
    with pytest.raises(errors.StoreUnreachable, match="already"):
        put(one.packs, "a.pack", b"bytes")
    assert set(one.packs.list()) == set()


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("RequestTimeTooSkewed", 403, errors.StoreClockSkewed),
        ("SignatureDoesNotMatch", 403, errors.StoreForbidden),
        ("InvalidAccessKeyId", 403, errors.StoreForbidden),
        ("ExpiredToken", 400, errors.StoreForbidden),
        ("AccessDenied", 403, errors.StoreForbidden),
        ("NoSuchBucket", 404, errors.StoreMissing),
        ("InternalError", 500, errors.StoreUnreachable),
        ("BadRequest", 400, errors.StoreUnreachable),
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_an_error_of_the_server_is_ours_with_a_next_step(
    machine: Open, server: SmallStore, code: str, status: int, error: type[errors.MulliganError], method: str
) -> None:
    one = machine()
    put(machine().packs, "a.pack", b"bytes")
    server.failures.append(Failure(status=status, code=code, method=method, part="/packs/"))
    with pytest.raises(error) as raised:
        content(one.packs, "a.pack") if method == "GET" else put(one.packs, "b.pack", b"bytes")
    assert raised.value.next_step
    assert "secretsecret" not in f"{raised.value} {raised.value.facts}"


def test_a_server_that_is_not_there_is_told(shared: SharedStore) -> None:
    address = shared.address()
    with pytest.raises(errors.StoreUnreachable):
        Bucket(_at("http://127.0.0.1:1", address)).get("a")


def test_a_bucket_that_is_not_there_is_told(server: SmallStore) -> None:
    address = store_address(
        "s3://nobody/here", endpoint=server.endpoint, environ=server.environ, user=Path("/")
    )
    with pytest.raises(errors.StoreMissing, match="nobody"):
        probe(Bucket(address))


@pytest.mark.parametrize("promise", ["honours_conditions", "honours_ranges", "lists"])
def test_a_server_that_breaks_a_promise_is_refused(
    shared: SharedStore, machine: Open, server: SmallStore, promise: str
) -> None:
    setattr(server, promise, False)
    one = machine(doubtful=True)
    with pytest.raises(errors.StoreUnsuitable):
        put(one.packs, "a.pack", b"a")
    assert set(one.packs.list()) == set()
    assert not [key for key in server.objects if "/packs/" in key]
    assert shared


def test_a_bucket_belongs_to_one_project(shared: SharedStore) -> None:
    bucket = Bucket(shared.address())
    for _ in range(2):
        claim_bucket(bucket, "one", has_packs=False)
    with pytest.raises(errors.StoreForeign):
        claim_bucket(bucket, "another", has_packs=False)


def test_a_bucket_that_was_emptied_is_not_taken_for_a_new_one(
    shared: SharedStore, server: SmallStore
) -> None:
    with pytest.raises(errors.StoreForeign):
        claim_bucket(Bucket(shared.address()), "one", has_packs=True)
    assert not server.objects


ENVIRON = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}
CREDENTIALS = """
[default]
aws_access_key_id = of the default
aws_secret_access_key = secret

[other]
aws_access_key_id = of the other
aws_secret_access_key = s%cret
aws_session_token = token
"""
CONFIG = """
[default]
region = eu-west-1

[profile other]
region = eu-north-1
endpoint_url = http://127.0.0.1:8333
"""


@pytest.fixture
def user(tmp_path: Path) -> Path:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(CREDENTIALS)
    (tmp_path / ".aws" / "config").write_text(CONFIG)
    return tmp_path


def test_credentials_come_from_the_environment_first(user: Path) -> None:
    found = store_address("s3://bucket/a/b", endpoint=None, environ=ENVIRON, user=user)
    assert (found.bucket, found.prefix, found.endpoint, found.region) == ("bucket", "a/b", None, "eu-west-1")
    assert found.options == {"access_key_id": "key", "secret_access_key": "secret", "session_token": "token"}
    assert found.shown == "s3://bucket/a/b"


def test_credentials_come_from_the_files_of_the_user(user: Path) -> None:
    usual = store_address("s3://bucket", endpoint=None, environ={}, user=user)
    assert usual.options["access_key_id"] == "of the default"
    other = store_address("s3://bucket", endpoint=None, environ={"AWS_PROFILE": "other"}, user=user)
    assert (other.endpoint, other.region) == ("http://127.0.0.1:8333", "eu-north-1")
    assert dict(other.options) == {
        "access_key_id": "of the other",
        "secret_access_key": "s%cret",
        "session_token": "token",
    }
    named = {"AWS_SHARED_CREDENTIALS_FILE": str(user / ".aws" / "credentials"), "AWS_CONFIG_FILE": "/nowhere"}
    elsewhere = store_address("s3://bucket", endpoint="http://h:1", environ=named, user=Path("/nowhere"))
    assert elsewhere.options["access_key_id"] == "of the default"
    assert elsewhere.shown == "s3://bucket at http://h:1"


def test_without_credentials_the_client_looks_for_them(tmp_path: Path) -> None:
    assert store_address("s3://bucket", endpoint=None, environ={}, user=tmp_path).options == {}


def test_a_file_that_cannot_be_read_is_named_and_not_repeated(user: Path) -> None:
    (user / ".aws" / "credentials").write_text("secret without a section = 1")
    with pytest.raises(errors.SystemFailed) as raised:
        store_address("s3://bucket", endpoint=None, environ={}, user=user)
    assert "secret" not in str(raised.value)


def _at(endpoint: str, address: StoreAddress) -> StoreAddress:
    return replace(address, endpoint=endpoint)
