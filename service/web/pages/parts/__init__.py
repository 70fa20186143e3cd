"""The parts of pages: the page type, forms and their errors, words, badges and charts. No page lives here."""
