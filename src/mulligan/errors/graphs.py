"""Errors about graphs that other programs run: their states, and the files that belong to them."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Failed, Refused


class GraphStateDamaged(Failed):
    """The stored state of a graph cannot be read."""

    message = "thread {thread!r}, checkpoint {checkpoint}: {reason}"
    hint = Advice(
        "go on from an earlier checkpoint of the thread, by its `checkpoint_id`; `graph.get_state_history(config, "
        "before=...)` lists those before this one; ",
        NextStep("doctor"),
        " lists all that is damaged",
    )


class GraphStateUnknown(Refused):
    """No state of the graph is stored for the checkpoint."""

    http_status = 404
    message = "thread {thread!r} has no checkpoint {checkpoint}"
    hint = "`graph.get_state_history(config)` lists those that it has"


class GraphFilesGone(Refused):
    """The group with the files of a graph's checkpoint was pruned or deleted; no file was touched."""

    http_status = 410
    message = "thread {thread!r}, checkpoint {checkpoint}: its files were in group {group}, which is gone"
    hint = Advice(
        "choose a checkpoint whose group is listed by ",
        NextStep("checkpoints.list", plan="{plan_id}"),
        "; the state alone can be read with `graph.get_state`",
    )


class GraphFilesElsewhere(Refused):
    """The files of a graph's checkpoint are not in the session that its saver has."""

    message = "thread {thread!r}, checkpoint {checkpoint}: {reason}"
    hint = Advice(
        "give the saver that plan's session, ",
        NextStep("session", resume="{owner}"),
        "; if the plan has ended, a fork of it, ",
        NextStep("session", resume="..."),
        " with what `project.fork` returns; or begin a new thread",
    )


class GraphFilesUnknown(Refused):
    """The checkpoint of a graph was made without files."""

    message = "thread {thread!r}, checkpoint {checkpoint}: it was made without files, so that none can go back to it"
    hint = "go on from the newest checkpoint of the thread, without a `checkpoint_id`; its files are then those of now"


class GraphBusy(Refused):
    """Two runs of graphs work on the files of one session at once."""

    http_status = 409
    message = (
        "thread {thread!r} goes on from checkpoint {parent}, but the files of this session belong to {present}: "
        "another run works on them, and what both wrote is mixed"
    )
    hint = (
        "run one graph at a time on a session, or give each thread one of its own; invoke the graph with the "
        "`checkpoint_id` of the checkpoint to go back to"
    )


class GraphDurabilityUnfit(Refused):
    """A graph with files runs in a mode of durability that does not keep state and files together."""

    message = "a graph with files needs durability='sync', and this run has {durability}"
    hint = "pass it to the call: `graph.invoke(input, config, durability='sync')`"


class GraphActImpossible(Refused):
    """A graph with files cannot do this."""

    message = "{reason}"
    hint = "{instead}"
