"""Says what each customer ordered."""

import sqlite3

QUERY = "SELECT customer, sum(amount) FROM orders GROUP BY customer"
for customer, total in sqlite3.connect("orders.db").execute(QUERY):
    print(f"{customer}: {total:.2f}")
