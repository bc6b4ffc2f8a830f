from mulligan.cli.answers.answer import Table
from mulligan.cli.terminal.tables import table_text

ID = "01M7GH75H2X8872DMXR2CGBX5P"
PLANS = Table(
    ("PLAN", "NAME", "STATE", "UPDATED"),
    (
        (ID, "tour", "execute/complete", "2026-11-15 21:18:39"),
        (ID, "", "execute/errored", "2026-11-15 21:20:52"),
    ),
)


def drawn(table: Table, width: int | None = None, encoding: str = "utf-8") -> list[str]:
    return "".join(table_text(table, width=width, encoding=encoding)).splitlines()


def test_with_room_every_row_is_a_line():
    lines = drawn(PLANS)
    assert drawn(PLANS, 100) == lines
    assert lines == [
        f"PLAN{' ' * 22}  NAME  STATE             UPDATED",
        f"{ID}  tour  execute/complete  2026-11-15 21:18:39",
        f"{ID}        execute/errored   2026-11-15 21:20:52",
    ]


def test_a_row_is_folded_between_cells_at_the_same_place_in_all():
    assert drawn(PLANS, 60) == [
        f"PLAN{' ' * 22}  NAME  STATE",
        "  UPDATED",
        f"{ID}  tour  execute/complete",
        "  2026-11-15 21:18:39",
        f"{ID}        execute/errored",
        "  2026-11-15 21:20:52",
    ]
    assert drawn(PLANS, 40)[2:4] == [f"{ID}  tour", "  execute/complete  2026-11-15 21:18:39"]
    assert all(len(line) <= 40 for line in drawn(PLANS, 40))


def test_no_cell_is_broken_however_narrow_it_is():
    for width in range(1, 120):
        lines = drawn(PLANS, width)
        assert [word for line in lines for word in line.split()] == " ".join(drawn(PLANS)).split()
        assert all(len(line) <= max(width, len(ID) + 2) for line in lines)


def test_one_long_cell_does_not_push_the_others_apart():
    table = Table(
        ("KEY", "VALUE", "FROM"), (("a", "x", "default"), ("b", "y" * 60, "file"), ("c", "z", "default"))
    )
    assert drawn(table, 80) == [
        "KEY  VALUE  FROM",
        "a    x      default",
        f"b    {'y' * 60}  file",
        "c    z      default",
    ]


def test_wide_characters_and_marks_are_counted_as_they_are_shown():
    table = Table(("NAME", "STATE"), (("日本", "a"), ("e\u0301te\u0301", "b"), ("four", "c")))
    assert drawn(table) == ["NAME  STATE", "日本  a", "e\u0301te\u0301   b", "four  c"]


def test_what_the_locale_does_not_have_is_spelled_and_counted_so():
    table = Table(("NAME", "STATE"), (("größe", "a"), ("four", "b")))
    assert drawn(table, encoding="ascii") == ["NAME         STATE", r"gr\xf6\xdfe  a", "four         b"]


def test_a_table_of_nothing_is_its_header():
    assert drawn(Table(("A", "B"), ())) == ["A  B"]
    assert drawn(Table(("A", ""), (("x", ""),)), 40) == ["A", "x"]


def test_what_may_be_shortened_is_cut_where_rows_then_are_one_line():
    names = ("upgrade-orders", "日本" * 20, "bash -c 'for i in $(seq 30); do seq 9 > f$i; done'", "tour")
    table = Table(
        ("PLAN", "NAME", "STATE", "STEPS", "UPDATED"),
        tuple((ID, name, "strategize/complete", "0/1", "5 min ago") for name in names),
        shortened="NAME",
    )
    header, *rows = drawn(table, 80)
    assert len(rows) == len(names)
    assert all(row.endswith("  strategize/complete  0/1    5 min ago") for row in rows)
    assert [row[len(ID) + 2 :].split("  ")[0] for row in rows] == [
        "upgrade-or...",
        "日本日本日...",
        "bash -c 'f...",
        "tour",
    ]
    assert header.split() == ["PLAN", "NAME", "STATE", "STEPS", "UPDATED"]
    assert "upgrade-orders  " in drawn(table, 120)[1]
    assert drawn(table, 120)[3].split("  ")[1].startswith("bash -c 'for i in $(seq 30)")
    for whole in (drawn(table), drawn(table, 60)):  # a file, and a terminal that is too narrow anyway
        assert all(any(name in line for line in whole) for name in names)


def test_only_the_last_cells_that_find_no_room_go_below():
    table = Table(
        ("KEY", "FROM", "VALUE"),
        (
            ("k" * 43, "default", "50"),
            ("a", "file", "y" * 27),
            ("b", "default", "z" * 26),
            ("c", "default", ""),
        ),
    )
    assert drawn(table, 80) == [
        f"KEY{' ' * 40}  FROM     VALUE",
        f"{'k' * 43}  default  50",
        f"a{' ' * 42}  file",
        f"  {'y' * 27}",
        f"b{' ' * 42}  default  {'z' * 26}",
        f"c{' ' * 42}  default",
    ]
