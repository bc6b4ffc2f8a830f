"""Lines of a patch get their colours from where they stand, not from how they begin."""

from mulligan.cli.terminal.render import styled_lines

PATCH = b"""diff --git a/x b/x
--- a/x
+++ b/x
@@ -1,4 +1,3 @@
 same
--- looks like a header
-@@ -1 +1 @@
-gone
\\ No newline at end of file
+++ likewise
+\ttab
@@ -9 +8,0 @@
-last
\\ No newline at end of file
diff --git a/y b/y
new file mode 100644
"""


def test_colours() -> None:
    assert [style for _, style in styled_lines(PATCH)] == [
        *["bold", "bold", "bold", "cyan"],
        *["", "red", "red", "red", "", "green", "green"],
        *["cyan", "red", ""],
        *["bold", "bold"],
    ]


def test_tabs_are_spaces() -> None:
    assert "+       tab" in [line for line, _ in styled_lines(PATCH)]
