"""The site's settings for tests: their own data folder, and no waiting for discs or password
hashes."""

import os
import tempfile

# Held by the module, so that it is removed when the test process ends.
_data_folder = tempfile.TemporaryDirectory(prefix="concord-tests-", ignore_cleanup_errors=True)
os.environ["DATA_DIR"] = _data_folder.name
# Parallel test processes share one broker: each has its own names in it.
os.environ["BROKER_PREFIX"] = f"concord-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}:"
# Tests of other things make projects as they like; who may is test_people_pages' to ask.
os.environ["MAY_CREATE_PROJECTS"] = "everybody"

from agreement_site.settings import *  # noqa: E402, F403 - the environment above is read by the import

# the default takes 0.3 s a user
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Each test's client makes its own chain of middleware: WhiteNoise would read all static files anew
# for each. So it looks for a file when somebody asks for it.
WHITENOISE_AUTOREFRESH = True

_database = DATABASES["default"]  # noqa: F405 - comes with the star
if _database["ENGINE"].endswith("sqlite3"):
    # A file, not memory: tests with several threads or processes need SQLite's real locks.
    _database["TEST"] = {"NAME": os.path.join(_data_folder.name, "test.sqlite3")}
    _options = _database["OPTIONS"]
    _options["init_command"] = _options["init_command"].replace(
        "synchronous=FULL", "synchronous=OFF"
    )
