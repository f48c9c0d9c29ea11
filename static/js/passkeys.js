// Buttons that ask for a passkey go where the browser knows none; when it gives none, the page says so.
"use strict";

if (!window.PublicKeyCredential) {
  for (const button of document.querySelectorAll("[data-passkey]")) button.hidden = true;
}
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey-failed").hidden = false;
});
