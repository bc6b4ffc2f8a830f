"""The HTTP API: the operations of the page for programs, and the document that describes them."""
