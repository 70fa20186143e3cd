"""Opens pages in the user's browser. Uses the standard library only."""

import os
import webbrowser


def open_page(address: str) -> bool:
    """Open a page in the browser of BROWSER or in a graphical one. A text browser would take over the terminal.

    Returns whether there is such a browser. May wait for some seconds until the browser has taken the address.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    chosen = bool(os.environ.get("BROWSER"))
    return (chosen or type(browser) is not webbrowser.GenericBrowser) and browser.open(address)
