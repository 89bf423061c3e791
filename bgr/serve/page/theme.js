// Light or dark. Loaded before the page is painted, so that it does not flash in the other colors.
(() => {
  "use strict";
  const KEY = "bgr-theme";
  const NAMES = ["auto", "light", "dark"];

  function stored() {
    try {
      const name = localStorage.getItem(KEY);
      return NAMES.includes(name) ? name : "auto";
    } catch {
      return "auto"; // storage is forbidden
    }
  }

  function apply(name) {
    document.documentElement.dataset.theme = name;
  }

  apply(stored());
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    let name = stored();
    const show = () => {
      button.textContent = `Theme: ${name}`;
    };
    show();
    button.addEventListener("click", () => {
      name = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length];
      apply(name);
      show();
      try {
        localStorage.setItem(KEY, name);
      } catch {
        // it holds until the page is closed
      }
    });
  });
})();
