"""The psychiatric diagnoses of Fleiss (1971): 30 patients, 6 diagnoses each, kappa 0.430.

The table is a published fact: J. L. Fleiss, "Measuring nominal scale agreement among many raters",
Psychological Bulletin 76 (1971), table 1. It gives how many of six psychiatrists chose each
diagnosis, not which ones: the psychiatrists were not the same for all patients. So that every page
has data, the loader assigns each patient's diagnoses to six raters at random (with a fixed seed).
Fleiss' kappa does not depend on it. The results of single raters and pairs do, and are meaningless
here.
"""

LABELS = ("depression", "personality disorder", "schizophrenia", "neurosis", "other")

# One row a patient: how many of the six diagnoses are each of LABELS.
COUNTS = (
    (0, 0, 0, 6, 0),
    (0, 3, 0, 0, 3),
    (0, 1, 4, 0, 1),
    (0, 0, 0, 0, 6),
    (0, 3, 0, 3, 0),
    (2, 0, 4, 0, 0),
    (0, 0, 4, 0, 2),
    (2, 0, 3, 1, 0),
    (2, 0, 0, 4, 0),
    (0, 0, 0, 0, 6),
    (1, 0, 0, 5, 0),
    (1, 1, 0, 4, 0),
    (0, 3, 3, 0, 0),
    (1, 0, 0, 5, 0),
    (0, 2, 0, 3, 1),
    (0, 0, 5, 0, 1),
    (3, 0, 0, 1, 2),
    (5, 1, 0, 0, 0),
    (0, 2, 0, 4, 0),
    (1, 0, 2, 0, 3),
    (0, 0, 0, 0, 6),
    (0, 1, 0, 5, 0),
    (0, 2, 0, 1, 3),
    (2, 0, 0, 4, 0),
    (1, 0, 0, 4, 1),
    (0, 5, 0, 1, 0),
    (4, 0, 0, 0, 2),
    (0, 2, 0, 4, 0),
    (1, 0, 5, 0, 0),
    (0, 0, 0, 0, 6),
)
