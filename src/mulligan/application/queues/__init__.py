"""Plans in the queues of a shared project: handed over, run by workers, taken from workers that died."""
