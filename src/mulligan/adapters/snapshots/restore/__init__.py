"""Restore: a tree becomes what a snapshot holds. `restore_plan` computes, `restorer` carries out.

`private_tree` changes sandboxes; `real_tree` changes users' folders and never replaces a name blindly.
"""
