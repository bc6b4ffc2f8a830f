"""Errors of an object store; each belongs to one of the families, by its exit code."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Failed, Refused

_SETTING = NextStep("config.get", key="core.store.url")


class StoreUnreachable(Failed):
    """The object store did not answer, or answered with an error, until mulligan gave up."""

    http_status = 503
    message = "the store {store} cannot be used: {reason}"
    hint = Advice(
        "nothing is lost: once it answers, repeat the command; ", _SETTING, " shows its address, and "
        "`core.store.endpoint` or AWS_ENDPOINT_URL name its server",
    )  # fmt: skip


class StoreMissing(Failed):
    """There is no such bucket."""

    message = "the store {store} has no bucket {bucket}"
    hint = Advice("create the bucket on the server, or correct the address that ", _SETTING, " shows")


class StoreForbidden(Failed):
    """The object store refuses the credentials, or they may not do what is needed."""

    message = "the store {store} does not let us {verb}: {reason}"
    hint = (
        "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials (AWS_PROFILE), that may "
        "list, read, write and delete in that bucket"
    )


class StoreClockSkewed(Failed):
    """The clock of this machine differs too much from that of the object store."""

    message = "the store {store} refuses requests: the clock of this machine is wrong"
    hint = "set the clock (`timedatectl set-ntp true`), then try again"


class StoreMoved(Failed):
    """A sweep removed what a commit relied on, because its process was stopped for longer than the sweep waits."""

    message = "a sweep removed packs while this process was stopped or slow: {reason}"
    hint = "nothing was recorded: repeat the command, or resume the plan; raise `core.store.grace` if it happens often"


class StoreUnsuitable(Refused):
    """The object store does not keep the promises that packs rely on."""

    message = "the store {store} cannot hold packs: {reason}"
    hint = "use a server that honours If-None-Match and Range, such as Amazon S3 or SeaweedFS"


class StoreForeign(Refused):
    """The place in the object store is not that of this project."""

    message = "the store {store} is not the one of this project: {reason}"
    hint = Advice(
        _SETTING, " shows which is used; set the right one, or give a new project a prefix of its own"
    )


class StoreNotJoinable(Refused):
    """The packs of a shared project are on one machine, or the bucket that holds them was not named."""

    message = (
        "the project in {database} cannot be joined: its packs are not in the bucket that was named, if any"
    )
    hint = Advice(
        "name its bucket: ",
        NextStep("init", database=..., store=...),
        "; a project whose packs are in a folder stays on its machine; another schema (`schema=NAME` in the "
        "address) is a project of its own",
    )


class StoreNotShared(Refused):
    """An object store is set for a project whose rows are in a file on this machine."""

    message = "packs can be in {store} only when rows are in PostgreSQL: other machines cannot see {database}"
    hint = Advice(
        NextStep("init", database=..., store=...),
        " makes a shared project; to go on with this one: ",
        NextStep("config.unset", key="core.store.url"),
    )
