"""The page of cases: single questions, their evidence forests, and what every system saw and answered."""
