// The lessons, in order: pages of HTML beside this file. Links of class `run` set the laboratory up.

const pages = import.meta.glob('./lessons/*.html', { query: '?raw', import: 'default', eager: true })

export const lessons = Object.keys(pages)
  .sort()
  .map((name) => ({ html: pages[name], title: /<h1>(.*?)<\/h1>/s.exec(pages[name])[1] }))
