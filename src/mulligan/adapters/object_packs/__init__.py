"""Packs in an S3-compatible bucket, for projects that many machines share; which packs there are is in rows.

`bucket` alone knows the library that speaks to the store. `bucket_packs` keeps packs there, with a cache on this
machine; `pack_register` has their rows, and `commit_check` refuses a commit that relies on a pack which a sweep removed
meanwhile.
"""
