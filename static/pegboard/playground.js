// A question that is too long for an address is sent in the body instead; web servers refuse it
// otherwise. The address of the page then has nothing of it.
(() => {
  const LONGEST = 3500;

  document.addEventListener("htmx:configRequest", (event) => {
    const request = event.detail;
    if (request.elt.id !== "ask") return;
    if (new URLSearchParams(request.formData).toString().length <= LONGEST) return;
    request.verb = "post";
    request.useUrlParams = false;
    request.headers["Content-Type"] = "application/x-www-form-urlencoded";
    request.headers["X-CSRFToken"] = document.querySelector("[name=csrfmiddlewaretoken]").value;
  });
})();
