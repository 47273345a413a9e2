// The lessons, in order: pages of HTML beside this file. Links of class `run` set the laboratory up.

const pages = import.meta.glob('./lessons/*.html', { query: '?raw', import: 'default', eager: true })

export const lessons = Object.keys(pages)
  .sort()
  .map((name) => ({ html: pages[name], title: /<h1>(.*?)<\/h1>/s.exec(pages[name])[1] }))

/** A lesson's number from 1, whatever was asked for. */
export const lessonNumber = (asked) => Math.min(lessons.length, Math.max(1, Math.floor(Number(asked)) || 1))

/** The fragment of what a lesson begins with: its first link to the laboratory. */
export const beginning = (asked) =>
  /<a class="run" href="([^"]+)"/.exec(lessons[lessonNumber(asked) - 1].html)[1].replaceAll('&amp;', '&')
