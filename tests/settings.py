"""Django settings for tests: a data folder of their own, no waiting for disks or hashes."""

import os
import tempfile

# Referenced by the module, so that it is removed when the test process ends.
_data_folder = tempfile.TemporaryDirectory(prefix="concord-tests-", ignore_cleanup_errors=True)
os.environ["DATA_DIR"] = _data_folder.name
# Parallel test processes share one broker: each has its own names in it.
os.environ["BROKER_PREFIX"] = f"concord-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}:"
# Tests create projects freely; test_people_pages checks who may.
os.environ["MAY_CREATE_PROJECTS"] = "everybody"

from agreement_site.settings import *  # noqa: E402, F403 - the environment above is read by the import

# The default takes 0.3 s a user.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Each test client builds its own middleware chain, and WhiteNoise would read all static files for
# each. So it looks for a file when it is requested.
WHITENOISE_AUTOREFRESH = True

_database = DATABASES["default"]  # noqa: F405 - comes with the star
if _database["ENGINE"].endswith("sqlite3"):
    # A file, not memory: tests with several threads or processes need SQLite's real locks.
    _database["TEST"] = {"NAME": os.path.join(_data_folder.name, "test.sqlite3")}
    _options = _database["OPTIONS"]
    _options["init_command"] = _options["init_command"].replace(
        "synchronous=FULL", "synchronous=OFF"
    )
