// Browsers start no worker from a file. Where the site is opened from a folder, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      // the worker's script posts to its own window, which passes on what it posts
      frame.srcdoc =
        '<script>window.postMessage = (data) => frameElement.answer(data)<' + '/script>' +
        `<script src="${new URL(url, location.href).href.replaceAll('"', "%22")}"><` + "/script>"
      frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      frame.addEventListener("load", () => {
        this.target = frame.contentWindow
        this.waiting.splice(0).forEach((data) => this.postMessage(data))
      })
      const add = () => document.body.append(frame)
      document.body ? add() : addEventListener("DOMContentLoaded", add)
    }

    postMessage(data) {
      if (this.target) this.target.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker
}
