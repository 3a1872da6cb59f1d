// A list that follows what happens: the server's events say when it is to be read again.
(() => {
  const POLL_MS = 3000;
  let address = "";
  let source = null;
  let timer = 0;

  const list = () => document.querySelector("[data-live]");

  function read() {
    const shown = list();
    if (shown) htmx.trigger(shown, "live-changed");
  }

  function stop() {
    source?.close();
    clearInterval(timer);
    source = null;
    timer = 0;
    address = "";
  }

  // Each reading replaces the list, and leaves its address and so the stream as they are.
  function follow() {
    const wanted = document.hidden ? "" : (list()?.dataset.live ?? "");
    if (wanted === address) return;
    stop();
    if (!wanted) return;
    address = wanted;
    source = new EventSource(wanted);
    source.onmessage = read;
    // Lost, the browser opens it again. Refused, as where too many are open, the list is polled.
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED && !timer) timer = setInterval(read, POLL_MS);
    };
  }

  document.addEventListener("htmx:load", follow);
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", stop);
})();
