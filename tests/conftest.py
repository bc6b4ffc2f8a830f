"""What holds for all tests."""

from hypothesis import settings

# The same examples in every run: a failure is about the change at hand, not about luck. No deadline: two
# cores shared with other tests say nothing about speed. `--hypothesis-profile=search` looks further.
settings.register_profile("deterministic", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("search", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("deterministic")
