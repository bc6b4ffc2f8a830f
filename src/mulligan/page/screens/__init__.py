"""The screens that a browser shows. Each one gathers its facts in one look, and a template draws it.

`page_templates` has the templates and makes every text inert; `page_links` leads from next steps to acts and screens.
"""
