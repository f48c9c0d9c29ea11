"""URLs of accounts. allauth looks up names that begin with one of its apps."""

from allauth.mfa.recovery_codes import views as recovery_views
from allauth.mfa.webauthn import views as webauthn_views
from allauth.socialaccount import views as social_views
from django.urls import path, re_path

from agreement_site.accounts import identity_providers, oidc, preferences, saml, sessions

from . import second_factor, sign_in

urlpatterns = [
    path("sign-in/", sign_in.SignIn.as_view(), name="sign_in"),
    path("sign-in/", sign_in.SignIn.as_view(), name="account_login"),
    path(
        "sign-in/second-factor/", second_factor.SignInSecondStep.as_view(), name="mfa_authenticate"
    ),
    path("sign-in/passkey/", second_factor.SignInByPasskey.as_view(), name="mfa_login_webauthn"),
    path("sign-out/", sign_in.SignOut.as_view(), name="sign_out"),
    path("sign-out/", sign_in.SignOut.as_view(), name="account_logout"),
    path("admin/login/", sign_in.redirect_admin_sign_in),
    path("password/", sign_in.ChangePassword.as_view(), name="change_password"),
    path("invitations/<uidb64>/<token>/", sign_in.AcceptInvitation.as_view(), name="invitation"),
    path("language/", preferences.save_language, name="choose_language"),
    path("theme/", preferences.save_theme, name="choose_theme"),
    # reauthentication
    path("account/confirm/", sign_in.ConfirmPassword.as_view(), name="account_reauthenticate"),
    path(
        "account/confirm/code/",
        second_factor.ReauthenticateByCode.as_view(),
        name="mfa_reauthenticate",
    ),
    path(
        "account/confirm/passkey/",
        webauthn_views.reauthenticate_webauthn,
        name="mfa_reauthenticate_webauthn",
    ),
    # second factor
    path("account/second-factor/", second_factor.SecondFactorIndex.as_view(), name="mfa_index"),
    path(
        "account/second-factor/",
        second_factor.SecondFactorIndex.as_view(),
        name="mfa_list_webauthn",
    ),
    path(
        "account/second-factor/app/", second_factor.ActivateTotp.as_view(), name="mfa_activate_totp"
    ),
    path(
        "account/second-factor/app/remove/",
        second_factor.DeactivateTotp.as_view(),
        name="mfa_deactivate_totp",
    ),
    path(
        "account/second-factor/passkeys/add/",
        second_factor.AddPasskey.as_view(),
        name="mfa_add_webauthn",
    ),
    path(
        "account/second-factor/passkeys/<int:pk>/remove/",
        second_factor.RemovePasskey.as_view(),
        name="mfa_remove_webauthn",
    ),
    path(
        "account/second-factor/codes/",
        recovery_views.view_recovery_codes,
        name="mfa_view_recovery_codes",
    ),
    path(
        "account/second-factor/codes/new/",
        second_factor.GenerateRecoveryCodes.as_view(),
        name="mfa_generate_recovery_codes",
    ),
    # identity providers
    path("oidc/<slug:provider_id>/login/", oidc.start_oidc_sign_in, name="openid_connect_login"),
    path(
        "oidc/<slug:provider_id>/login/callback/",
        oidc.oidc_callback,
        name="openid_connect_callback",
    ),
    path(
        "oidc/<slug:provider_id>/logout/",
        oidc.receive_logout,
        name="oidc_backchannel_logout",
    ),
    path("saml/login/", saml.SamlSignIn.as_view(), name="saml_login"),
    path("saml/acs/", saml.receive_saml_response, name="saml_acs"),
    path("saml/acs/finish/", saml.finish_sign_in, name="saml_finish_acs"),
    path("saml/metadata/", saml.serve_metadata, name="saml_metadata"),
    path(
        "sign-in/cancelled/",
        social_views.login_cancelled,
        name="socialaccount_login_cancelled",
    ),
    path(
        "account/connected/",
        identity_providers.ManageConnections.as_view(),
        name="socialaccount_connections",
    ),
    # e-mail
    path(
        "password/forgotten/",
        sign_in.RequestPasswordReset.as_view(),
        name="account_reset_password",
    ),
    path(
        "password/forgotten/sent/",
        sign_in.PasswordResetRequested.as_view(),
        name="account_reset_password_done",
    ),
    re_path(
        r"^password/forgotten/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$",
        sign_in.ResetPassword.as_view(),
        name="account_reset_password_from_key",
    ),
    path("account/address/", sign_in.ChangeEmailAddress.as_view(), name="account_email"),
    path(
        "account/address/<key>/",
        sign_in.ConfirmEmailAddress.as_view(),
        name="account_confirm_email",
    ),
    # sessions
    path("account/sessions/", sessions.list_sessions, name="usersessions_list"),
    path("account/sessions/end/", sessions.end_sessions, name="end_other_sessions"),
    path("account/sessions/<int:session_id>/end/", sessions.end_sessions, name="end_session"),
]
