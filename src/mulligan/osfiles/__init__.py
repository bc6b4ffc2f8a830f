"""Files of a local disk, below all adapters: folders that are durable, private or temporary, walks, careful moves."""
