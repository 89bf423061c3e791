// The theme's search looks for words that begin like those of a question, and many begin like "a" or "I". Words that tell
// nothing are left out, and so are the ends of others: "sentence" is the beginning of "sentences", but not the reverse.
const EMPTY_WORDS = new Set(
  ("a an and are as at be by can could did do does for from have how i in is it its may me my of on or should that the " +
    "their there this to was we what when where which who why will with you your").split(" "),
)

function tellingWords(question) {
  const words = question.split(/\s+/).map((word) => word.replace(/^[("'“]+|[)"'”?!.,;:]+$/g, ""))
  const telling = words.filter((word) => word && !EMPTY_WORDS.has(word.toLowerCase()))
  return telling.map((word) => word.replace(/(\w{3}[^s\W])s$/, "$1")).join(" ") || question
}

window.Worker = class extends window.Worker {
  postMessage(message) {
    const isQuestion = message.type === 2
    super.postMessage(isQuestion ? { ...message, data: tellingWords(message.data) } : message)
  }
}
