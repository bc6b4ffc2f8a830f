"""What a browser shows: each screen gathers what it needs in one look, and a template draws it.

`drawing` has the templates and makes every text inert; `page_links` leads from next steps to acts and screens.
"""
