"""Files of a local disk, below all adapters: durable and private folders, careful moves, temporary folders."""
