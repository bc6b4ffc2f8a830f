"""The front door for people who look: the project in a browser, and the same operations over HTTP.

`page_service` serves it on this machine alone; `request_guard` decides which requests are answered. `page_app` is the
table of addresses: `screens` is for browsers, `programs` for programs. Both offer the `acts`, which change something.
`project_desk` keeps the project for all threads, and `lines` has the lines of files and patches.
"""
