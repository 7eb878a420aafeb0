// Tables that scroll sideways can be reached and scrolled with the keyboard.  The theme wraps them
// after the page has come.
const reachable = () => {
  for (const wrapped of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wrapped.tabIndex = 0;
    wrapped.setAttribute("role", "region");
    wrapped.setAttribute("aria-label", "Table");
  }
};
new MutationObserver(reachable).observe(document.documentElement, { childList: true, subtree: true });
reachable();
