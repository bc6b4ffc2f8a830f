"""Pure values and rules: no I/O, no clock, nothing but the words of the glossary."""
