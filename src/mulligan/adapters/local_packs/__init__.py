"""The local disk below the snapshot store: packs as the files of a folder, leases as `flock` on files."""
