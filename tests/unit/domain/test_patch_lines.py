"""Lines of a patch have the numbers that they have in their files."""

from mulligan.domain.trees.patch_lines import lines_of_patch

PATCH = b"""diff --git a/x b/x
--- a/x
+++ b/x
@@ -3,3 +3,3 @@
 same
-gone
\\ No newline at end of file
+come
 end
@@ -9 +9,0 @@
-last
"""


def test_numbers() -> None:
    assert [(line.text, line.kind.value, line.number) for line in lines_of_patch(PATCH)][3:] == [
        ("@@ -3,3 +3,3 @@", "hunk", None),
        (" same", "context", 3),
        ("-gone", "removed", 4),
        ("\\ No newline at end of file", "remark", None),
        ("+come", "added", 4),
        (" end", "context", 5),
        ("@@ -9 +9,0 @@", "hunk", None),
        ("-last", "removed", 9),
    ]
