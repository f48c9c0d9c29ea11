"""Date and time formats of English, which every language of the site uses.

Files, charts, filters, core/web/dates.py and site.js use the same ones.
"""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i"
SHORT_DATE_FORMAT = "Y-m-d"
SHORT_DATETIME_FORMAT = "Y-m-d H:i"
YEAR_MONTH_FORMAT = "Y-m"
MONTH_DAY_FORMAT = "m-d"
TIME_FORMAT = "H:i"
