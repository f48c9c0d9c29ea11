// The page of the API: Swagger UI of the site's own schema.
const page = document.getElementById("api-reference");

/**
 * Lay Swagger UI out as a part of the page, with markup that assistive technology can use: its own
 * layout repeats title and main landmark, lists the one server in a field without a label, and has
 * a link inside the button of each operation (the address of an open operation stays).
 */
const PagePart = ({ React }) => ({
  components: {
    DeepLink: ({ text }) => React.createElement("span", null, text),
    PagePartLayout({ getComponent, specSelectors }) {
      const parts = ["SvgAssets", "errors"];
      if (specSelectors.specStr()) {
        parts.push("AuthorizeBtnContainer", "FilterContainer", "operations");
      }
      return React.createElement(
        "div",
        { className: "swagger-ui" },
        ...parts.map((part) => React.createElement(getComponent(part, true))),
      );
    },
  },
});

SwaggerUIBundle({
  domNode: page,
  url: page.dataset.schema,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: -1,
  filter: true,
  deepLinking: true,
  plugins: [PagePart],
  layout: "PagePartLayout",
  // Requests with the session of the browser need the CSRF token.
  requestInterceptor(request) {
    if (new URL(request.url, location.href).origin === location.origin) {
      request.headers["X-CSRFToken"] = document.querySelector("[name=csrfmiddlewaretoken]").value;
    }
    return request;
  },
  onComplete() {
    page.dataset.state = "drawn";
  },
});
