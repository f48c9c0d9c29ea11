"""Settings of the site; environment variables override the defaults."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


def env_bool(name: str, default: bool) -> bool:
    text = os.environ.get(name, "").strip().lower()
    if text == "":
        return default
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name}={text!r}: one of 1, 0, true, false, yes, no, on, off")


def env_int(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    try:
        return int(text) if text else default
    except ValueError:
        raise ImproperlyConfigured(f"{name}={text!r}: a whole number is needed") from None


def env_list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


def env_url(name: str, schemes: Collection[str], *, needs_host: bool = True) -> str:
    """Return the URL in an environment variable, empty if it is not set.

    Raises ImproperlyConfigured, without the password, for another scheme than ``schemes`` and for a
    URL without a host if it ``needs_host``.
    """
    url = os.environ.get(name, "").strip()
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in schemes and parts.port != 0
    except ValueError:  # a port that is no number, or brackets without an address
        is_valid = False
    if not is_valid or (needs_host and not parts.hostname):
        starts = " or ".join(f"{scheme}://host:port" for scheme in schemes)
        raise ImproperlyConfigured(f"{name}: it looks like {starts}, with a port up to 65535")
    return url


def require_env(name: str) -> str:
    """Return the value of an environment variable that another setting needs.

    Raises ImproperlyConfigured if it is not set.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        raise ImproperlyConfigured(f"{name} is needed")
    return text


def detect_program(arguments: list[str]) -> str:
    """Return the kind of this process: web, worker, migrate, command, or a command of manage.py."""
    name = Path(arguments[0]).name if arguments else ""
    if name == "manage.py" and len(arguments) > 1:
        # The supervisor is forked into the web server, and into workers (server/worker.py).
        return "web" if arguments[1] == "services" else arguments[1]
    programs = {"web_server.py": "web", "worker.py": "worker", "prepare.py": "migrate"}
    return programs.get(name, "command")


# Shown in PostgreSQL's `application_name`.
PROGRAM = detect_program(sys.argv)
# Timeouts per kind of process, for connections without a pooler. A page that waits for a lock
# occupies a connection slot; a migration has no limit, whatever the database role's setting.
TIMEOUT_OPTIONS = {
    "web": "-c lock_timeout=5s -c statement_timeout=5min",
    "migrate": "-c lock_timeout=0 -c statement_timeout=0",
}


def parse_database_url(url: str) -> dict:
    """Return the entry of DATABASES for the URL in DATABASE_URL.

    It is sqlite:///relative-or-/absolute/path or postgres[ql]://user:password@host:port/name.
    Raises ImproperlyConfigured for another scheme.
    """
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _build_sqlite_database(unquote(parts.path[1:]))
    if parts.scheme in {"postgres", "postgresql"}:
        return _build_postgresql_database(parts)
    raise ImproperlyConfigured(f"DATABASE_URL={url!r}: it starts with sqlite:/// or postgresql://")


def _build_sqlite_database(path: str) -> dict:
    return {
        "ENGINE": "core.db.sqlite3",
        "NAME": str(Path(path)),
        # Opening a connection costs more than a rating, and closing the last one checkpoints the
        # write-ahead log. Each sweep of a worker has a connection: opening them every minute would
        # be a tenth of the processor time of an idle site.
        "CONN_MAX_AGE": 600,
        # IMMEDIATE: check-then-write transactions of several writers wait instead of failing.
        # FULL: an acknowledged rating survives a power cut.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                "PRAGMA cache_size=-20000; PRAGMA mmap_size=134217728"
            ),
        },
    }


def _build_postgresql_database(parts: SplitResult) -> dict:
    query = dict(parse_qsl(parts.query))
    # 0: prepare a statement at its first use. With psycopg 3.3's default (5), an error in a
    # pipeline can leave it believing in a statement that the server never received. None: for a
    # pooler that gives each transaction another server connection.
    prepare_threshold = 0 if env_bool("PREPARED_STATEMENTS", True) else None
    timeouts = {} if prepare_threshold is None else {"options": TIMEOUT_OPTIONS.get(PROGRAM, "")}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", unquote(parts.hostname or "")),
        "PORT": str(parts.port or ""),
        # Prepared statements live as long, with plans for the tables as they were then.
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "prepare_threshold": prepare_threshold,
            "application_name": f"concord {PROGRAM}",
            **timeouts,
            **query,
        },
    }


def load_secret_key(folder: Path) -> str:
    """Return SECRET_KEY from the environment, or the key generated at this folder's first start.

    Raises ImproperlyConfigured if the key in the environment is too short or too regular.
    """
    env_key = os.environ.get("SECRET_KEY", "")
    if env_key:
        if len(env_key) < 50 or len(set(env_key)) < 5:
            raise ImproperlyConfigured(
                "SECRET_KEY is too short or too regular: 50 random characters at least"
            )
        return env_key
    path = folder / "secret_key"
    if not path.exists():
        # A link appears with its whole content: another process may start at the same moment.
        with tempfile.NamedTemporaryFile("w", dir=folder) as file:
            file.write(secrets.token_urlsafe(60))
            file.flush()
            with contextlib.suppress(FileExistsError):
                os.link(file.name, path)
    return path.read_text().strip()


# Files created from here on are private to their owner: the database, keys, imports.
os.umask(0o077)
DATA_DIR = Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve()
DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
if DATA_DIR.stat().st_mode & 0o007:
    raise ImproperlyConfigured(
        f"DATA_DIR={DATA_DIR} is open to every user of this machine, and holds password hashes and "
        f"ratings: chmod o-rwx {DATA_DIR}"
    )
SECRET_KEY = load_secret_key(DATA_DIR)
# Older keys that remain valid for what they signed, while a new key replaces them.
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS")
DEBUG = env_bool("DEBUG", False)
HTTPS = env_bool("HTTPS", False)
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
if HTTPS and (DEBUG or "*" in ALLOWED_HOSTS):
    raise ImproperlyConfigured("HTTPS=1 is a public site: without DEBUG=1 and ALLOWED_HOSTS=*")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "agreement_site.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "allauth",  # its mail templates and translations
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.socialaccount.providers.saml",
    "projects",
    "events",
    "ratings",
    "metrics",
    "quality",
    "agreement_site",
]
MIDDLEWARE = [
    "agreement_site.monitoring.logs.RequestLogMiddleware",
    "agreement_site.middleware.security.AllowedMethodsMiddleware",
    "agreement_site.middleware.security.NulCharacterMiddleware",
    "core.jobs.wakeup.WakeWorkersMiddleware",
    "agreement_site.middleware.security.TokenRedirectMiddleware",  # before redirects to https
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "agreement_site.middleware.static_bundles.StaticBundleMiddleware",
    "agreement_site.middleware.security.CompressPagesMiddleware",
    "agreement_site.middleware.security.PrivateResponsesMiddleware",
    "agreement_site.middleware.security.ContentSecurityPolicyMiddleware",
    "agreement_site.middleware.security.FetchDestinationMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "agreement_site.accounts.sessions.IdleSessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # After the session and its user, who may have chosen a language; before anything that
    # responds with text.
    "agreement_site.accounts.preferences.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "agreement_site.middleware.security.FormSizeMiddleware",  # after the user, before CSRF
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    # Handles the exceptions of allauth's views and gives them the request.
    "allauth.account.middleware.AccountMiddleware",
    "agreement_site.accounts.required_actions.OwnPasswordMiddleware",
    "agreement_site.accounts.required_actions.SecondFactorMiddleware",
    "agreement_site.accounts.attempt_limits.RateLimitMiddleware",
    "agreement_site.accounts.sign_in.TooManyAttemptsMiddleware",
    "agreement_site.middleware.table_export.TableExportMiddleware",  # in the reader's language
]
ROOT_URLCONF = "agreement_site.urls"
WSGI_APPLICATION = "agreement_site.wsgi.application"
# Number of web server processes, and of requests that each works on at a time.
WEB_PROCESSES = env_int("WEB_PROCESSES", 2)
WEB_THREADS = env_int("WEB_THREADS", 16)
WORKER_THREADS = env_int("WORKER_THREADS", 2)
if min(WEB_PROCESSES, WEB_THREADS, WORKER_THREADS) < 1:
    raise ImproperlyConfigured("WEB_PROCESSES, WEB_THREADS and WORKER_THREADS are 1 at least")
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": [
                "core.web.dates",
                "core.web.links",
                "core.web.table_tags",
                "agreement_site.middleware.static_bundles",
            ],
        },
    },
]

DATABASES = {
    "default": parse_database_url(
        env_url("DATABASE_URL", ("postgresql", "postgres", "sqlite"), needs_host=False)
        or f"sqlite:///{DATA_DIR / 'concord.sqlite3'}"
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = ["agreement_site.accounts.authentication.ThrottledModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "agreement_site.accounts.authentication.TranslatedMinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "agreement_site.accounts.authentication.GuessabilityValidator"},
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "sign_in"

# Users who must have a second factor: nobody, staff, leads and staff, or everybody.
REQUIRE_SECOND_FACTOR = os.environ.get("REQUIRE_SECOND_FACTOR") or "nobody"
if REQUIRE_SECOND_FACTOR not in ("nobody", "staff", "leads", "everybody"):
    raise ImproperlyConfigured(
        f"REQUIRE_SECOND_FACTOR={REQUIRE_SECOND_FACTOR!r}: one of nobody, staff, leads, everybody"
    )

# An OpenID Connect provider, as an alternative to passwords.
OIDC_SERVER_URL = env_url("OIDC_SERVER_URL", ("https", "http")).rstrip("/")
OIDC_NAME = os.environ.get("OIDC_NAME") or "OpenID Connect"
# Who can sign in by it: "connected" accounts; also accounts "matched" by a confirmed e-mail
# address; or every user of the provider, whose account is then "created".
OIDC_ACCOUNTS = os.environ.get("OIDC_ACCOUNTS") or "connected"
if OIDC_ACCOUNTS not in ("connected", "matched", "created"):
    raise ImproperlyConfigured(
        f"OIDC_ACCOUNTS={OIDC_ACCOUNTS!r}: one of connected, matched, created"
    )
# True if the provider asks for a second factor, so that this site need not.
OIDC_SECOND_FACTOR = env_bool("OIDC_SECOND_FACTOR", False)
_oidc = urlsplit(OIDC_SERVER_URL)
if OIDC_SERVER_URL and _oidc.scheme != "https" and _oidc.hostname not in ("localhost", "127.0.0.1"):
    raise ImproperlyConfigured(f"OIDC_SERVER_URL={OIDC_SERVER_URL!r}: it starts with https://")
# Whether the provider's back-channel logout also revokes the account's API tokens.
OIDC_LOGOUT_REVOKES_TOKENS = env_bool("OIDC_LOGOUT_REVOKES_TOKENS", False)
# Days after the last sign-in until API tokens of accounts of a provider are revoked; 0: never.
PROVIDER_TOKEN_DAYS = env_int("PROVIDER_TOKEN_DAYS", 0)
# Hours after which a session that began at a provider ends, so that the provider is asked again;
# 0: as other sessions.
PROVIDER_SESSION_HOURS = env_int("PROVIDER_SESSION_HOURS", 0)
if PROVIDER_TOKEN_DAYS < 0:
    raise ImproperlyConfigured("PROVIDER_TOKEN_DAYS: days, or 0 for never")
# Roles by groups of the provider: (group, number of a project or None for the site, role).
PROVIDER_GROUPS_CLAIM = os.environ.get("PROVIDER_GROUPS_CLAIM") or "groups"
PROVIDER_GROUP_ROLES: list[tuple[str, int | None, str]] = []
for _entry in env_list("PROVIDER_GROUP_ROLES"):
    _match = re.fullmatch(
        r"(.+)=(?:(\d+):(lead|adjudicator|viewer|annotator)|site:administrator)", _entry
    )
    if not _match:
        raise ImproperlyConfigured(
            f"PROVIDER_GROUP_ROLES: {_entry!r} is no entry like group=12:annotator (lead, "
            "adjudicator, viewer) or group=site:administrator"
        )
    PROVIDER_GROUP_ROLES.append(
        (_match[1], int(_match[2]) if _match[2] else None, _match[3] or "administrator")
    )
SOCIALACCOUNT_PROVIDERS: dict = {}
if OIDC_SERVER_URL:
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": require_env("OIDC_CLIENT_ID"),
                "secret": require_env("OIDC_CLIENT_SECRET"),
                "settings": {"server_url": OIDC_SERVER_URL},
            }
        ],
    }
# A SAML provider: the file with its metadata, the rest as for OpenID Connect. The library is in
# requirements-extra.txt.
SAML_METADATA = os.environ.get("SAML_METADATA", "")
SAML_NAME = os.environ.get("SAML_NAME") or "SAML"
SAML_ACCOUNTS = os.environ.get("SAML_ACCOUNTS") or "connected"
if SAML_ACCOUNTS not in ("connected", "matched", "created"):
    raise ImproperlyConfigured(
        f"SAML_ACCOUNTS={SAML_ACCOUNTS!r}: one of connected, matched, created"
    )
SAML_SECOND_FACTOR = env_bool("SAML_SECOND_FACTOR", False)
_saml = urlsplit("")
if SAML_METADATA:
    from agreement_site import saml_metadata

    _provider = saml_metadata.parse_provider_metadata(SAML_METADATA)
    _saml = urlsplit(_provider["singleSignOnService"]["url"])
    SOCIALACCOUNT_PROVIDERS["saml"] = {
        "APPS": [saml_metadata.build_allauth_app(SAML_NAME, _provider)]
    }
SOCIALACCOUNT_ADAPTER = "agreement_site.accounts.identity_providers.SocialAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"

# Address of the site in mails and chat messages; without it, that of the first host.
_first_host = next((host for host in ALLOWED_HOSTS if host.strip(".*")), "localhost").lstrip(".")
SITE_URL = os.environ.get("SITE_URL", "").rstrip("/") or (
    f"https://{_first_host}" if HTTPS else f"http://{_first_host}:{env_int('PORT', 8000)}"
)
if not re.fullmatch(r"https?://([\w.-]+|\[[0-9a-fA-F:]+\])(:\d+)?", SITE_URL):
    raise ImproperlyConfigured(f"SITE_URL={SITE_URL!r}: such as https://concord.example.org")

# Mail: smtp://user:password@host:587 (STARTTLS) or smtps://. Without it no mail is sent.
SMTP_URL = env_url("SMTP_URL", ("smtp", "smtps"))
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
if SMTP_URL:
    _smtp = urlsplit(SMTP_URL)
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    EMAIL_HOST, EMAIL_PORT = _smtp.hostname, _smtp.port or (465 if _smtp.scheme == "smtps" else 587)
    EMAIL_HOST_USER = unquote(_smtp.username or "")
    EMAIL_HOST_PASSWORD = unquote(_smtp.password or "")
    EMAIL_USE_SSL = _smtp.scheme == "smtps"
    EMAIL_USE_TLS = not EMAIL_USE_SSL and env_bool("SMTP_TLS", True)
    DEFAULT_FROM_EMAIL = require_env("MAIL_FROM")
EMAIL_TIMEOUT = 10  # a page waits for it
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Concord] "
ACCOUNT_EMAIL_NOTIFICATIONS = bool(SMTP_URL)
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"

# allauth counts attempts per process, so its limits are off; attempt_limits counts them.
ACCOUNT_ADAPTER = "agreement_site.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_CHANGE_EMAIL = True  # an account has one address
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 5 * 60
MFA_ADAPTER = "agreement_site.accounts.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # leads create accounts, with or without an address
MFA_TOTP_ISSUER = "Concord"
MFA_TOTP_TOLERANCE = 1  # clocks of phones may differ by half a minute
MFA_FORMS = {
    "authenticate": "agreement_site.accounts.second_factor.CodeForm",
    "reauthenticate": "agreement_site.accounts.second_factor.CodeAgainForm",
    "activate_totp": "agreement_site.accounts.second_factor.FirstCodeForm",
}
# Browsers offer passkeys over https, and on localhost.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 60 * 60
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = HTTPS
USE_I18N = True
FORMAT_MODULE_PATH = "agreement_site.formats"
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# The chart bundle is generated during setup and never committed.
if (BASE_DIR / "build" / "static").is_dir():
    STATICFILES_DIRS.append(BASE_DIR / "build" / "static")
# Only for a proxy that serves the files itself: STATIC_ROOT=/folder manage.py collectstatic.
STATIC_ROOT = os.environ.get("STATIC_ROOT") or None
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o755  # only collectstatic: the proxy runs as another user
# Served straight from the source folders, so a change needs no collectstatic.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

# Requests are small; the import wizard streams its files to disk.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000
# Only the views that accept files store them (ratings/files/upload_limits.py).
FILE_UPLOAD_HANDLERS = ["agreement_site.middleware.security.DiscardUploadHandler"]
FILE_UPLOAD_TEMP_DIR = str(DATA_DIR / "uploads")
Path(FILE_UPLOAD_TEMP_DIR).mkdir(exist_ok=True, mode=0o700)
IMPORT_MAX_BYTES = env_int("IMPORT_MAX_BYTES", 512 * 1024 * 1024)
# All images, audio and video files of one upload together.
MEDIA_MAX_BYTES = env_int("MEDIA_MAX_BYTES", 256 * 1024 * 1024)

# Whether webhooks may call private networks, such as 127.0.0.1 and 10.0.0.0/8, and http://.
WEBHOOKS_TO_PRIVATE_NETWORKS = env_bool("WEBHOOKS_TO_PRIVATE_NETWORKS", False)
# Whether connections, as with Label Studio, may lead to private networks, and by http://.
CONNECTIONS_TO_PRIVATE_NETWORKS = env_bool("CONNECTIONS_TO_PRIVATE_NETWORKS", False)
# Private Ed25519 key that signs the verdicts of gates, in PEM form; created at first use.
GATE_SIGNING_KEY_FILE = os.environ.get("GATE_SIGNING_KEY_FILE") or DATA_DIR / "gate-signing-key.pem"
# Whether leads may create links that show results without an account; off ends all of them.
SHARE_LINKS = env_bool("SHARE_LINKS", True)
# Who may create projects, and so accounts: everybody, leads and staff, or staff.
MAY_CREATE_PROJECTS = os.environ.get("MAY_CREATE_PROJECTS") or "leads"
if MAY_CREATE_PROJECTS not in ("everybody", "leads", "staff"):
    raise ImproperlyConfigured(
        f"MAY_CREATE_PROJECTS={MAY_CREATE_PROJECTS!r}: one of everybody, leads, staff"
    )

# A file that gets each entry of the audit log as a line of JSON, chained by hashes; empty: none.
AUDIT_LOG_FILE = os.environ.get("AUDIT_LOG_FILE", "")
if AUDIT_LOG_FILE and not Path(AUDIT_LOG_FILE).parent.is_dir():
    raise ImproperlyConfigured(f"AUDIT_LOG_FILE={AUDIT_LOG_FILE!r}: its folder does not exist")
# A syslog server that gets each entry, too: udp://host:514, tcp://host:601 or unix:///dev/log.
AUDIT_LOG_SYSLOG = env_url("AUDIT_LOG_SYSLOG", ("udp", "tcp", "unix"), needs_host=False)

# Retention in days (agreement_site/housekeeping.py); 0 keeps the data for good.
KEEP_AUDIT_LOG_DAYS = env_int("KEEP_AUDIT_LOG_DAYS", 0)
KEEP_ADDRESSES_DAYS = env_int("KEEP_ADDRESSES_DAYS", 365)
KEEP_TOKENS_DAYS = env_int("KEEP_TOKENS_DAYS", 0)
# Projects with their items and ratings, after they were archived.
KEEP_ARCHIVED_PROJECTS_DAYS = env_int("KEEP_ARCHIVED_PROJECTS_DAYS", 0)
# Files that workers exported.
KEEP_EXPORTS_DAYS = env_int("KEEP_EXPORTS_DAYS", 7)
# For the file of an unfinished import.
KEEP_IMPORTS_DAYS = env_int("KEEP_IMPORTS_DAYS", 7)
for _days in (
    KEEP_AUDIT_LOG_DAYS,
    KEEP_ADDRESSES_DAYS,
    KEEP_TOKENS_DAYS,
    KEEP_ARCHIVED_PROJECTS_DAYS,
    KEEP_EXPORTS_DAYS,
    KEEP_IMPORTS_DAYS - 1,
):
    if _days < 0:
        raise ImproperlyConfigured("KEEP_..._DAYS: days, 0 for ever; of imports 1 or more")

# Who has to approve the deletion of a project, showing hidden identities, and links with names:
# nobody, another lead, or an administrator (projects/services/approvals.py).
SECOND_PERSON = os.environ.get("SECOND_PERSON") or "nobody"
if SECOND_PERSON not in ("nobody", "lead", "administrator"):
    raise ImproperlyConfigured(
        f"SECOND_PERSON={SECOND_PERSON!r}: one of nobody, lead, administrator"
    )
# Projects of which nothing is deleted, by their numbers, or "all" (projects/permissions.py).
LEGAL_HOLD = env_list("LEGAL_HOLD")
for _text in LEGAL_HOLD:
    if _text != "all" and not _text.isdecimal():
        raise ImproperlyConfigured(f"LEGAL_HOLD: {_text!r} is neither a project's number nor all")

# Time after which an item assigned to an annotator may go to somebody else.
LEASE_SECONDS = env_int("LEASE_SECONDS", 30 * 60)

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# Probes use neither host name nor TLS; the API rejects http itself (PrivateResponsesMiddleware).
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^livez$", r"^metrics$", r"^api/"]
CSRF_FAILURE_VIEW = "agreement_site.error_pages.csrf_failure"
# With this prefix no other host of the same domain can set our cookies.
_host = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{_host}sessionid"
CSRF_COOKIE_NAME = f"{_host}csrftoken"
LANGUAGE_COOKIE_NAME = f"{_host}django_language"
THEME_COOKIE_NAME = f"{_host}theme"
MESSAGE_STORAGE = "agreement_site.middleware.security.MessageStorage"
# A session ends after this time without use, and after 14 days in any case.
SESSION_ENGINE = "agreement_site.accounts.sessions"
SESSION_IDLE_HOURS = env_int("SESSION_IDLE_HOURS", 72)
if not 1 <= SESSION_IDLE_HOURS <= 14 * 24:
    raise ImproperlyConfigured(f"SESSION_IDLE_HOURS={SESSION_IDLE_HOURS}: 1 to 336")
if env_bool("BEHIND_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
# Other servers (https://host) from which items may show images, audio and video. Without any,
# only this site's own.
ITEM_MEDIA_ORIGINS = env_list("ITEM_MEDIA_ORIGINS")
for _origin in ITEM_MEDIA_ORIGINS:
    if not re.fullmatch(r"https?://[\w.-]+(:\d+)?", _origin):
        raise ImproperlyConfigured(
            f"ITEM_MEDIA_ORIGINS: {_origin!r} is no origin like https://media.example.org"
        )
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", *ITEM_MEDIA_ORIGINS],
        "media-src": ["'self'", *ITEM_MEDIA_ORIGINS],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        # Browsers apply it to redirects, too, and sign-in by a provider begins with a form.
        "form-action": [
            "'self'",
            *(f"{url.scheme}://{url.netloc}" for url in (_oidc, _saml) if url.netloc),
        ],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "projects.authentication.TokenAuthentication",
        "projects.authentication.BrowserAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.api.parsers.FastContentNegotiation",
    "DEFAULT_PARSER_CLASSES": ["core.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "core.api.errors.handle_api_error",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "UPLOADED_FILES_USE_URL": False,
    "URL_FORMAT_OVERRIDE": None,  # JSON only: ?format= is an unknown parameter
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Concord",
    "DESCRIPTION": (
        "Ratings in, agreement out: projects, items, raters, ratings and their reliability."
    ),
    "VERSION": "1",
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SERVERS": [{"url": "/", "description": "This site"}],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.api.schema.complete_schema",
        "agreement_site.api_urls.describe_api",
    ],
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_PATCH": False,  # the fields of our changes are optional already
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "AlertState": ["open", "acknowledged", "muted", "resolved"],
        "AppealState": ["open", "upheld", "refused"],
        "ExamState": ["open", "passed", "failed", "waived"],
        "GoldInterventionState": ["proposed", "done", "overridden"],
        "RaterKind": ["human", "model"],
        "WebhookFormat": "events.models.Webhook.Format",
    },
}

# The queue carries only hints (docs/architecture.md): early acknowledgement, no results, short
# timeouts for publishing.
REDIS_URL = env_url("REDIS_URL", ("redis", "rediss", "redis+socket"), needs_host=False)
CELERY_BROKER_URL = REDIS_URL or "memory://"
_publish_retry_policy = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.2,
}
CELERY_TASK_PUBLISH_RETRY_POLICY = _publish_retry_policy
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 0.5,
    "socket_timeout": 1,  # of web requests; workers wait longer (agreement_site/server/worker.py)
    "socket_keepalive": True,
    "visibility_timeout": 300,
    "global_keyprefix": os.environ.get("BROKER_PREFIX", "concord:"),
    **_publish_retry_policy,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Python's own messages, such as MemoryError, would be split into a record per fragment.
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_SEND_TASK_EVENTS = False
SWEEP_SECONDS = env_int("SWEEP_SECONDS", 5)

# Token for /metrics; without it the page does not exist. The processes of a machine count into
# files, which the scraped process adds up; prometheus_client reads its variable when imported.
METRICS_TOKEN = os.environ.get("METRICS_TOKEN", "")
METRICS_DIR = DATA_DIR / "metrics"
if METRICS_TOKEN and PROGRAM in ("web", "worker"):
    METRICS_DIR.mkdir(exist_ok=True, mode=0o700)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)

# Sends errors to Sentry (agreement_site/apps.py); its client is in requirements-extra.txt.
SENTRY_DSN = env_url("SENTRY_DSN", ("https", "http"))
# Sends traces there (monitoring/tracing.py); its client is in requirements-extra.txt, too.
OTEL_EXPORTER_OTLP_ENDPOINT = env_url("OTEL_EXPORTER_OTLP_ENDPOINT", ("http", "https"))

# Format of the log on stderr, one line per record: JSON, or plain text on a terminal
# (agreement_site/monitoring/logs.py).
LOG_FORMAT = os.environ.get("LOG_FORMAT") or (
    "plain" if sys.stderr is not None and sys.stderr.isatty() else "json"
)
if LOG_FORMAT not in ("json", "plain"):
    raise ImproperlyConfigured(f"LOG_FORMAT={LOG_FORMAT!r}: json or plain")
LOG_LEVEL = os.environ.get("LOG_LEVEL") or "INFO"
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
    raise ImproperlyConfigured(
        f"LOG_LEVEL={LOG_LEVEL!r}: one of DEBUG, INFO, WARNING, ERROR, CRITICAL"
    )
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "agreement_site.monitoring.logs.JsonFormatter"},
        "plain": {"()": "agreement_site.monitoring.logs.PlainFormatter"},
    },
    "filters": {
        "redact_paths": {"()": "agreement_site.monitoring.logs.RedactPathsFilter"},
        "database_errors": {"()": "agreement_site.monitoring.logs.DatabaseErrorFilter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["redact_paths", "database_errors"],
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Each request and each task already has a line of its own (monitoring/logs.py).
        "django.request": {"level": "ERROR"},
        "django.server": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "_granian": {"level": "ERROR"},
    },
}
