"""Load and clocks."""
from row import C, Row

C1 = Row("C1", "a writer slower than the program")
C1.proven_by([C], "test_recovery.Trouble.test_no_room_until_there_is_again")
C2 = Row("C2", "rings of ten thousand threads")
C3 = Row("C3", "millions of names")
C4 = Row("C4", "clocks that jump")
C5 = Row("C5", "an unsteady time stamp counter")
C6 = Row("C6", "negative, overflowing and zero times")
