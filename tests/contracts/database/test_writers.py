"""At most one transaction writes: what it reads stays true until it commits."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from mulligan.domain.text.ids import PlanId
from mulligan.rows.database import Database
from mulligan.rows.sql_connection import SqlConnection
from tests.unit.examples import a_plan

PLAN = PlanId("01K00000000000000000000001")
WRITERS, TURNS = 4, 15


def test_writers_wait_for_each_other_and_none_loses_a_number(
    database: Database, connect: Callable[[], SqlConnection]
) -> None:
    def take(own: Database) -> list[int]:
        taken: list[int] = []
        for _ in range(TURNS):
            with own.writing() as db:
                used = db.plans.counters(PLAN)
                used.seq += 1
                taken.append(used.seq)
                db.plans.set_counters(PLAN, used)
        return taken

    with ThreadPoolExecutor(WRITERS) as threads:
        taken = list(threads.map(take, [Database(connect) for _ in range(WRITERS)]))
    assert sorted(number for numbers in taken for number in numbers) == list(range(1, WRITERS * TURNS + 1))
    assert all(numbers == sorted(numbers) for numbers in taken)


def test_what_a_writer_reads_first_stays_true_until_it_commits(
    database: Database, connect: Callable[[], SqlConnection]
) -> None:
    """Plans are numbered by reading the highest number: two writers at once must not read the same one."""

    def add(number: int) -> None:
        own = Database(connect)
        for turn in range(TURNS):
            with own.writing() as db:
                before = db.plans.count(None)
                db.plans.add(a_plan(f"01K0000000000000000000{number}1{turn:02}"))
                assert db.plans.count(None) == before + 1

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(add, range(WRITERS)))
    ordinals = [row["ordinal"] for row in connect().rows("SELECT ordinal FROM plans ORDER BY ordinal")]
    assert ordinals == list(range(1, WRITERS * TURNS + 2))
