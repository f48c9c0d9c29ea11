"""Date and time formats of Chinese: those of English."""

from agreement_site.formats.en.formats import (  # noqa: F401
    DATE_FORMAT,
    DATETIME_FORMAT,
    MONTH_DAY_FORMAT,
    SHORT_DATE_FORMAT,
    SHORT_DATETIME_FORMAT,
    TIME_FORMAT,
    YEAR_MONTH_FORMAT,
)
