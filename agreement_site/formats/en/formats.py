"""Days and moments are written alike in every language and everywhere on the site: as in a file, a
chart and a filter, and as core/web/dates.py and site.js write them."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i"
SHORT_DATE_FORMAT = "Y-m-d"
SHORT_DATETIME_FORMAT = "Y-m-d H:i"
YEAR_MONTH_FORMAT = "Y-m"
MONTH_DAY_FORMAT = "m-d"
TIME_FORMAT = "H:i"
