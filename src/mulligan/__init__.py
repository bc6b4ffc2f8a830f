"""mulligan: run plans so that nothing they do is final until you say so."""
