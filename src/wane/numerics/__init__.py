"""Room 0: numbers only.  Each routine says on which side it errs."""
