// Buttons that ask for a passkey show themselves where the browser knows passkeys; when it gives none, the page says so.
"use strict";

if (window.PublicKeyCredential) {
  for (const button of document.querySelectorAll("[data-passkey]")) button.hidden = false;
}
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey-failed").hidden = false;
});
