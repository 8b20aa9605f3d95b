"""Search and page providers behind one protocol."""
