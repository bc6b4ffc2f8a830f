"""Project homes: outside of the project folder, in one folder of the user's; how one is found, made and moved.

A small folder `.mulligan` in the project folder names the home (`home_link.py`). Where it is lost, an index finds
the home by the folder (`home_index.py`). The home itself records which folder it belongs to, so that a moved project is
known from a copied one (`home_search.py`).
"""
