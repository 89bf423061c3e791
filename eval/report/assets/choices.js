"use strict";
// A select above tables shows one of several parts: the one that has the select's value in its data-part.
for (const select of document.querySelectorAll("select[data-shows]")) {
  const show = () => {
    for (const part of document.querySelectorAll(`[data-group="${select.dataset.shows}"]`)) {
      part.hidden = !part.dataset.part.split(" ").includes(select.value);
    }
  };
  select.addEventListener("change", show);
  show();
}
