"""Shows nothing while an operation goes on."""

from mulligan.api.entrance import Unobserved


class Silent(Unobserved):
    """Draws nothing: the answer is a document."""

    def close(self) -> None:
        """Nothing to clean up."""
