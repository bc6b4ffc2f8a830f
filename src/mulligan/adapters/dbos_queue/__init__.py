"""The durable queue of shared projects, on DBOS Transact: `durable_queue` is the only module that knows it."""
