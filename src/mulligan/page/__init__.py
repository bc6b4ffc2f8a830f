"""The front door for people who look: the project in a browser, and the same operations over HTTP.

`page_service` serves it on this machine alone; `request_guard` decides which requests are answered. `page_app` is the
table of addresses: `screens` draws what a browser shows, `http_api` answers programs. What changes something is one of
the acts in `act_table`, which both offer; `act_jobs` runs them, `project_desk` keeps the project for all threads.
"""
