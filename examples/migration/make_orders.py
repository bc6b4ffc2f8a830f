"""Makes the database that the plan migrates."""

import sqlite3

with sqlite3.connect("orders.db") as orders:
    orders.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount REAL)")
    orders.executemany(
        "INSERT INTO orders (customer, amount) VALUES (?, ?)", [("Ada", 9.99), ("Ada", 20.01), ("Alan", 0.1)]
    )
