"""Everything that touches the outside; each adapter knows its own library, and no other adapter."""
