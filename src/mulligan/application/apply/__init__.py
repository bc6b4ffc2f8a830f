"""Apply and unapply: bring a plan's result into the real resources, all at once or not at all."""
