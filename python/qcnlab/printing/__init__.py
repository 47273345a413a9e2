"""Text for people: numbers, tables, markup, a bar with the time left."""
