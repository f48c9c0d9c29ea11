// The page of the API: Swagger UI of the site's own schema.
const page = document.getElementById("api-reference");

SwaggerUIBundle({
  domNode: page,
  url: page.dataset.schema,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: -1,
  filter: true,
  deepLinking: true,
  // Requests with the session of the browser need the CSRF token.
  requestInterceptor(request) {
    if (new URL(request.url, location.href).origin === location.origin) {
      request.headers["X-CSRFToken"] = document.querySelector("[name=csrfmiddlewaretoken]").value;
    }
    return request;
  },
});
