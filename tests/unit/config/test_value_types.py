"""Types of settings: which values they take, and none is repeated that may be secret."""

import pytest

from mulligan.config.bucket_address import endpoint_url, store_url
from mulligan.config.values import Unfit, ValueType, command_line, host_id


@pytest.mark.parametrize(
    ("type", "value", "read"),
    [
        (store_url(), "s3://bucket", "s3://bucket"),
        (store_url(), "s3://bucket/of/ours/", "s3://bucket/of/ours"),
        (store_url(), "https://bucket", None),
        (store_url(), 3, None),
        (store_url(), "s3://key:secret@bucket", None),
        (store_url(), "s3://bucket/a/../b", None),
        (endpoint_url(), "http://127.0.0.1:8333/", "http://127.0.0.1:8333"),
        (endpoint_url(), "127.0.0.1", None),
        (host_id(), "laptop-1", "laptop-1"),
        (host_id(), "two words", None),
        (command_line(), "less -R", "less -R"),
        (command_line(), "less\0", None),
    ],
)
def test_a_value_is_read_or_is_unfit(type: ValueType, value: object, read: str | None) -> None:
    if read is not None:
        assert type.check(value) == read
        return
    with pytest.raises(Unfit) as refusal:
        type.check(value)
    assert "secret" not in str(refusal.value)
